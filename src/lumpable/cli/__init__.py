"""The terminal and nothing else: commands, tables, bars. Only here live click and rich."""
