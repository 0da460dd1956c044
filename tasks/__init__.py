"""The stages as Prefect tasks (read, hand out, collect, write) and, in the folders, what they do."""
