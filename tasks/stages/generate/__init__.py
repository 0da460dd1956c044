"""Texts that a model writes: answers to queries without a match, and queries for functions.

``plan`` finds the queries without a match and counts them; ``write`` has answers written and
verified, and stores each as it comes; ``confirm`` writes the sheet for people and reads it back.
``queries`` has queries written before a source is collected that has none. ``asking`` asks about
several items at once.
"""
