"""Plans by night, events by day: evidence in a folder, and plans that any client can use."""
