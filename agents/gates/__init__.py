"""Checks that a test program must pass before its result counts as evidence."""
