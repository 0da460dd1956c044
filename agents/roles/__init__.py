"""The agents, one file and one prompt each."""
