"""Stand-ins with the same protocols as the real things, scripted by tests."""
