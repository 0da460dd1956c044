"""The order of things, and the command line."""
