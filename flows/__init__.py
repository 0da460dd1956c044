"""Prefect flows, a file for one or for a few of one subject, and what commands and forms ask.

A flow calls the stages in order. Which file has it, `flows.runtime.runs.flow_of` knows.
"""
