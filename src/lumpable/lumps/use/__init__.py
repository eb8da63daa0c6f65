"""What people use: names, decisions that wait for their rewards, tables and files."""
