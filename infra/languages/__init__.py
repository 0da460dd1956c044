"""Programming languages: what the rest of the project asks about source code."""
