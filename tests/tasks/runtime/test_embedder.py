"""Laws of the actors that embed, on clusters of several nodes; see also `tests/flows/test_kill.py`."""
