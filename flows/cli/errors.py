"""What a person sees of an error: its message, and no traceback unless it is asked for."""

import logging
import sys
from collections.abc import Iterator

from infra.errors import CosqaError

_LONGEST = 2_000


class _WithoutTraceback(logging.Filter):
    """Takes the traceback off log records; the message stays."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.exc_info = record.exc_text = None
        return True


def hide_tracebacks() -> None:
    """Let Prefect log errors of flows and tasks without their tracebacks."""
    for name in ("prefect.flow_runs", "prefect.task_runs"):
        logger = logging.getLogger(name)
        if not any(isinstance(item, _WithoutTraceback) for item in logger.filters):
            logger.addFilter(_WithoutTraceback())


def print_error(error: BaseException) -> None:
    """Print an error's message to stderr, and how to see more where it was not expected."""
    sys.stderr.write(f"error: {message_of(error)}\n")


def message_of(error: BaseException) -> str:
    """Return an error as a person reads it: each distinct error of a group on its own lines."""
    leaves = list(dict.fromkeys(map(_message, _leaves(error))))
    return "\n".join(leaves)


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        cause = getattr(error, "cause", None)  # Ray's wrapper around an error of a worker
        yield cause if isinstance(cause, BaseException) else error


def _message(error: BaseException) -> str:
    if isinstance(error, CosqaError):
        return str(error)
    text = str(error).strip() or "no message"
    return (
        f"unexpected {type(error).__name__}: {text[:_LONGEST]}\n"
        "What was finished before is kept. Run `cosqa --traceback ...` to see where it came from."
    )
