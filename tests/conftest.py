"""What all tests share."""

import atexit
import os


@atexit.register  # the first to be registered is the last to run
def _keep_the_summary_last() -> None:
    """Drop what DuckDB's binding prints on finalization about objects that others still hold."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
