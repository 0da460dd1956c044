"""Texts that a model writes: answers to queries without a match, and queries for functions.

``write`` counts the queries without a match, has answers to them written and verified, and stores
each as it comes; ``confirm`` writes the sheet for people and reads it back. ``queries`` has queries
written before a source is collected that has none.
"""
