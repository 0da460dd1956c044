"""What a person sees on the terminal: messages, and no traceback for errors made to be read."""

import logging

from rich.console import Console

from infra.errors import CosqaError

console = Console(highlight=False, soft_wrap=True)
errors = Console(stderr=True, highlight=False, soft_wrap=True)


class _WithoutTraceback(logging.Filter):
    """Takes the traceback off records of our own errors, whose message says it all."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.exc_info and isinstance(record.exc_info[1], CosqaError):
            record.exc_info, record.exc_text = None, None
        return True


def quieten_expected_errors() -> None:
    """Let Prefect log our own errors without a traceback."""
    for name in ("prefect.flow_runs", "prefect.task_runs"):
        logging.getLogger(name).addFilter(_WithoutTraceback())
