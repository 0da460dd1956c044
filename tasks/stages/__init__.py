"""Stages: Prefect tasks that read the store, call what is below, and write."""
