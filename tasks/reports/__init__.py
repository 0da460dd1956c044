"""Reports: of a run, of a leaderboard, of the difference between two benchmarks."""
