"""Hostile programs and hostile code under test, with what must become of each."""
