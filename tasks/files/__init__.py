"""Readers of text, JSON Lines, CSV and columns whose errors name file and line."""
