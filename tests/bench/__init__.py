"""Benchmarks: each prints a table of what was measured in one run; none is a test."""
