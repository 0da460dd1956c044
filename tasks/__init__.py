"""The stages as Prefect tasks (read, hand out, collect, write); in the folders, what they do."""
