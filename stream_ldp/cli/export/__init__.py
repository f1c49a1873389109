"""This command writes final answers as flat rows, for databases and tools that take no nested messages."""
