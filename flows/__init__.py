"""Prefect flows, one file each, which call the stages in order, and what commands and forms ask."""
