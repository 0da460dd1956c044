"""The terminal: messages, tables that never break a figure, and what a person sees of an error."""

import logging
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate
from typing import Any, TypeVar

import typer
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.markup import escape

from flows.cli.help import Command
from infra.errors import CosqaError
from tasks.reports.document import (
    Block,
    Code,
    Figure,
    Items,
    KeyValues,
    Paragraph,
    Table,
    Text,
    plain_text,
)
from tasks.reports.text import visible

F = TypeVar("F", bound=Callable[..., object])

console = Console(highlight=False, soft_wrap=True)
STARTING = "starting …"  # libraries and a server take seconds
errors = Console(stderr=True, highlight=False, soft_wrap=True)

_UNBOUNDED = 10_000
_LONGEST, _LONGEST_CELL, _LONGEST_ERROR = 20_000, 400, 2_000
_GAP = 2
_LABEL_SHARE = 3  # names may take a third of the width before columns are left out
_FAILED = "Finished in state Failed("


def examples(*lines: str) -> str:
    """Return command lines as the end of a command's help."""
    return "\n\n".join(["Examples:", *(f"  {escape(line)}" for line in lines)])


def paragraphs(function: Callable[..., object]) -> str:
    """Return a function's docstring with each paragraph on one line, as Typer shows it whole."""
    return "\n\n".join(" ".join(part.split()) for part in (function.__doc__ or "").split("\n\n"))


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


def terminal_width() -> int:
    """Return the columns of the terminal; output that goes to a file or a pipe has no bound."""
    return shutil.get_terminal_size(fallback=(_UNBOUNDED, 24)).columns


def say(text: str, *, style: str = "") -> None:
    """Print plain text: no markup is obeyed, and characters that could hide or fake text show.

    Args:
        text: One or more lines.
        style: One of rich's styles.
    """
    console.print(visible(text, _LONGEST), style=style or None, markup=False, emoji=False)


def print_block(table: Table, *, rest: str, title: str = "", note: str = "") -> None:
    """Print a table of a report, beneath another title than its caption where one is given."""
    rows = [[plain_text(cell) for cell in row] for row in table.rows]
    print_table(title or table.caption, table.header, rows, rest=rest, note=note)


def print_blocks(blocks: Iterable[Block]) -> None:
    """Print the text, the facts, the lists and the code of a report, and tables row by row."""
    for each in blocks:
        match block := each.table if isinstance(each, Figure) else each:
            case Paragraph(text):
                say(f"\n{plain_text(text)}", style="bold")
            case KeyValues(values):
                say("\n".join(f"{name}: {plain_text(value)}" for name, value in values.items()))
            case Items(entries):
                say("\n".join(f"  {plain_text(entry)}" for entry in entries))
            case Code(text):
                say(text.strip("\n"))
            case Table(header, rows):
                say("\n\n".join(_row_text(header, row) for row in rows))
            case str():
                say(block)


def _row_text(header: Sequence[str], row: Sequence[Text]) -> str:
    named = zip(header, map(plain_text, row), strict=True)
    return "\n".join(f"{name}: {cell}" for name, cell in named)


def print_table(
    title: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    rest: str,
    note: str = "",
    width: int = 0,
) -> None:
    """Print a table whose first column names its rows and whose others are figures.

    Where it is wider than the terminal, the names are shortened in their middle, and then columns
    are left out from the right: the first ones matter most.

    Args:
        title: What the table shows; none is printed where it is empty.
        header: The columns' names.
        rows: As many cells each as ``header`` has.
        rest: Where all columns can be seen: a file, or an option that writes one.
        note: A line beneath the table.
        width: The width to keep to, that of the terminal when not given.
    """
    width = width or terminal_width()
    header, *rows = [
        [" ".join(visible(cell, _LONGEST_CELL).split()) for cell in row] for row in (header, *rows)
    ]
    names, *figures = [max(map(cell_len, column)) for column in zip(header, *rows, strict=True)]
    ends = [0, *accumulate(_GAP + figure for figure in figures)]
    shown = sum(end <= width - min(names, width // _LABEL_SHARE) for end in ends)
    label = min(names, width - ends[shown - 1])
    if title:
        say("\n".join(textwrap.wrap(title, width)), style="bold")
    for place, (name, *cells) in enumerate([header, *rows]):
        line = set_cell_size(_shortened(name, label), label)
        for cell, figure in zip(cells[: shown - 1], figures, strict=False):
            line += " " * (_GAP + figure - cell_len(cell)) + cell
        say(line, style="" if place else "underline")
    if shown < len(header):
        left_out = ", ".join(header[shown:])
        note = f"{note}\nnot shown, for lack of width: {left_out}; all of it: {rest}".strip()
    for line in note.splitlines():
        say("\n".join(textwrap.wrap(line, width, break_on_hyphens=False)))
    say("")


def _shortened(name: str, width: int) -> str:
    """Return a name with its middle left out where it is wider than ``width``."""
    if cell_len(name) <= width:
        return name
    tail = (width - 1) // 2
    first = set_cell_size(name, width - 1 - tail)
    last = set_cell_size(name[::-1], tail)[::-1]
    return f"{first}…{last}"


class _WithoutErrors(logging.Filter):
    """Drops log records of errors that end the command, since `print_error` prints them.

    Other errors stay, without their tracebacks.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        record.exc_info = record.exc_text = None
        message = record.getMessage()
        is_ours = error is not None and all(isinstance(e, CosqaError) for e in _leaves(error))
        return not message.startswith(_FAILED) and (not is_ours or "Retry" in message)


_WITHOUT_ERRORS = _WithoutErrors()


def hide_tracebacks() -> None:
    """Let Prefect log no traceback, and no error that is printed when the command ends."""
    for name in ("prefect.flow_runs", "prefect.task_runs"):
        logging.getLogger(name).addFilter(_WITHOUT_ERRORS)


def print_error(error: BaseException) -> None:
    """Print to stderr each distinct error of a group, and how to see more of unexpected ones."""
    text = "\n".join(dict.fromkeys(map(_message, _leaves(error))))
    sys.stderr.write(f"error: {visible(text, _LONGEST)}\n")


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


def _message(error: BaseException) -> str:
    if isinstance(error, CosqaError):
        return str(error)
    text = str(error).strip() or "no message"
    return (
        f"unexpected {type(error).__name__}: {text[:_LONGEST_ERROR]}\n"
        "What was finished before is kept. Run `cosqa --traceback ...` to see where it came from."
    )
