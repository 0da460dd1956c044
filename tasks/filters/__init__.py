"""Rules that say which functions and pairs a benchmark keeps: pure functions, a paper each."""
