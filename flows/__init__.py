"""Prefect flows, one file each, which call the stages in order; ``cli`` is their command line."""
