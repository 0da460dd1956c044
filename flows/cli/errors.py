"""What a person sees of an error: its message, and no traceback unless it is asked for."""

import logging
import sys
from collections.abc import Iterator

from infra.errors import CosqaError
from tasks.reports.text import visible

_LONGEST, _LONGEST_OF_ALL = 2_000, 20_000
_FAILED = "Finished in state Failed("


class _WithoutErrors(logging.Filter):
    """Drops log records of errors that end the command, since `print_error` prints them.

    Other errors stay, without their tracebacks.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        record.exc_info = record.exc_text = None
        message = record.getMessage()
        is_ours = error is not None and all(isinstance(e, CosqaError) for e in leaves(error))
        return not message.startswith(_FAILED) and (not is_ours or "Retry" in message)


def hide_tracebacks() -> None:
    """Let Prefect log no traceback, and no error that is printed when the command ends."""
    for name in ("prefect.flow_runs", "prefect.task_runs"):
        logger = logging.getLogger(name)
        if not any(isinstance(item, _WithoutErrors) for item in logger.filters):
            logger.addFilter(_WithoutErrors())


def print_error(error: BaseException) -> None:
    """Print an error's message to stderr, and how to see more where it was not expected."""
    sys.stderr.write(f"error: {visible(message_of(error), _LONGEST_OF_ALL)}\n")


def message_of(error: BaseException) -> str:
    """Return an error as a person reads it: each distinct error of a group on its own lines."""
    return "\n".join(dict.fromkeys(map(_message, leaves(error))))


def leaves(error: BaseException) -> Iterator[BaseException]:
    """Yield the errors of a group and of groups in it, each as it was before Ray wrapped it."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from leaves(inner)
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
