"""Other people's challenges: a collection's codes ranked for their queries, a method a file."""
