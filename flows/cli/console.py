"""The terminal: where messages and tables are printed."""

import shutil

from rich.console import Console

from tasks.reports.text import visible

console = Console(highlight=False, soft_wrap=True)
errors = Console(stderr=True, highlight=False, soft_wrap=True)

_UNBOUNDED = 10_000
_LONGEST = 20_000


def terminal_width() -> int:
    """Return the columns of the terminal; output that goes to a file or a pipe has no bound."""
    return shutil.get_terminal_size(fallback=(_UNBOUNDED, 24)).columns


def say(text: str, *, style: str = "", progress: bool = False) -> None:
    """Print plain text: no markup is obeyed, and characters that could hide or fake text show.

    Args:
        text: One or more lines.
        style: One of rich's styles.
        progress: Print to stderr, so that results alone are in stdout.
    """
    out = errors if progress else console
    out.print(visible(text, _LONGEST), style=style or None, markup=False, emoji=False)
