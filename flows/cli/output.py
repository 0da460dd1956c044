"""The terminal: messages, documents, and what a person sees of an error."""

import errno
import logging
import shutil
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer
from rich.console import Console
from rich.markup import escape

from flows.cli.help import Command, Group
from infra.errors import CosqaError
from tasks.reports.text import visible

if TYPE_CHECKING:
    from tasks.reports.document import Document

F = TypeVar("F", bound=Callable[..., object])

console = Console(highlight=False, soft_wrap=True)
STARTING = "starting …"  # libraries and a server take seconds
errors = Console(stderr=True, highlight=False, soft_wrap=True)

_LONGEST, _LONGEST_ERROR = 20_000, 2_000
_FAILED = "Finished in state Failed("


def examples(*lines: str) -> str:
    """Return command lines as the end of a command's help."""
    return "\n\n".join(["Examples:", *(f"  {escape(line)}" for line in lines)])


def paragraphs(function: Callable[..., object]) -> str:
    """Return a function's docstring with each paragraph on one line, as Typer shows it whole."""
    return "\n\n".join(" ".join(part.split()) for part in (function.__doc__ or "").split("\n\n"))


def group(about: str, kind: type[Group] = Group) -> typer.Typer:
    """Return a group of commands."""
    return typer.Typer(cls=kind, rich_markup_mode="rich", no_args_is_help=True, help=about)


def command(
    app: typer.Typer,
    *lines: str,
    name: str | None = None,
    panel: str | None = None,
    quiet: Sequence[str] = (),
) -> Callable[[F], F]:
    """Make a function a command: its docstring is the help, which ends with these examples.

    Args:
        app: The group of commands.
        lines: Examples.
        name: The command's name, that of the function when not given.
        panel: The part of the help in which it is.
        quiet: Parameters of which the help says only that they are taken.
    """

    def register(function: F) -> F:
        about, shown = paragraphs(function), examples(*lines)
        kind: Any = partial(Command, quiet=quiet)
        app.command(name, cls=kind, help=about, epilog=shown, rich_help_panel=panel)(function)
        return function

    return register


def terminal_width() -> int | None:
    """Return the columns of the terminal; None of a file or a pipe."""
    return shutil.get_terminal_size(fallback=(0, 0)).columns or None


def say(text: str, *, style: str = "") -> None:
    """Print plain text: no markup is obeyed, and characters that could hide or fake text show.

    Args:
        text: One or more lines.
        style: One of rich's styles.
    """
    console.print(visible(text, _LONGEST), style=style or None, markup=False, emoji=False)


def print_document(
    document: "Document",
    page: Path | str = "",
    *,
    parts: Collection[str] = (),
    rest: str = "a wider terminal",
) -> None:
    """Print a document, or its sections of some names, and where its page is if it has one.

    Args:
        document: The document.
        page: The file that has it whole.
        parts: The sections' names; empty takes all.
        rest: Where all columns can be seen, if there is no page.
    """
    from tasks.reports.terminal import terminal_lines

    for text, style in terminal_lines(document, terminal_width(), str(page), rest, parts):
        say(text, style=style)


_OF_PLACES = {
    errno.EEXIST, errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENOTEMPTY, errno.EACCES,
    errno.EPERM, errno.EROFS, errno.ELOOP, errno.ENAMETOOLONG,
}  # fmt: skip


def _is_logged(record: logging.LogRecord) -> bool:
    """Return False of an error that ends the command, since `print_error` prints it.

    Other errors lose their tracebacks.
    """
    error = record.exc_info[1] if record.exc_info else None
    record.exc_info = record.exc_text = None
    message = record.getMessage()
    is_ours = error is not None and all(isinstance(e, CosqaError) for e in _leaves(error))
    return not message.startswith(_FAILED) and (not is_ours or "Retry" in message)


def hide_tracebacks() -> None:
    """Let Prefect log no traceback, and no error that is printed when the command ends."""
    for name in ("prefect.flow_runs", "prefect.task_runs"):
        logging.getLogger(name).addFilter(_is_logged)


def print_error(error: BaseException) -> None:
    """Print to stderr each distinct error of a group, and how to see more of unexpected ones."""
    told: list[str] = []
    for one in _leaves(error):
        text = str(one)
        if not isinstance(one, CosqaError):
            said = (text.strip() or "no message")[:_LONGEST_ERROR]
            said = f"unexpected {type(one).__name__}: {said}"
            if isinstance(one, OSError) and one.errno in _OF_PLACES and one.filename:
                place = one.filename2 or one.filename
                said = f"{place} cannot be used ({one.strerror}): name another place, or change it"
            text = (
                f"{said}\nWhat was finished before is kept. Run `cosqa --traceback ...` to see "
                "where it came from."
            )
        told.append(text)
    whole = "\n".join(dict.fromkeys(told))
    sys.stderr.write(f"error: {visible(whole, _LONGEST)}\n")


def drop_tracebacks(error: BaseException) -> None:
    """Let go of all that was at work when an error was raised, and those that had led to it.

    A thread that lasts may keep the error, as the one that has started Ray does. By its frames all
    modules would stay, and DuckDB's would print at the end of the process that it leaks.
    """
    left: list[object] = [error]
    dropped = set[int]()
    while left:
        one = left.pop()
        if isinstance(one, BaseException) and id(one) not in dropped:
            dropped.add(id(one))
            one.__traceback__ = None
            left += [one.__cause__, one.__context__, getattr(one, "cause", None)]
            left += one.exceptions if isinstance(one, BaseExceptionGroup) else ()


def _leaves(error: BaseException) -> Iterator[BaseException]:
    """Yield the errors of a group and of groups in it, each as it was before Ray wrapped it."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        cause = getattr(error, "cause", None)  # Ray's wrapper around an error of a worker
        yield cause if isinstance(cause, BaseException) else error
