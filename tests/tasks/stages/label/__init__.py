"""Tests of people's labels."""
