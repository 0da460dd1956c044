"""Support for flows: Prefect's server, flow parameters, and names of runs."""
