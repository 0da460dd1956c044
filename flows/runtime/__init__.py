"""What flows run on: Prefect's server, and the names of runs."""
