"""``cosqa suite``: figures of other people's evaluation suites, from their own files.

A command for each registered suite is made of its options, so that a suite is one file in
`tasks.suites`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from flows.cli.lazy import Command
from flows.cli.output import print_table, say
from tasks.suites import Suite, suites


def commands() -> Mapping[str, Command]:
    """Return the commands, one for each registered suite."""
    return {name: _command(name, suites.get(name)) for name in suites}


def _command(name: str, kind: type[Suite]) -> Command:
    """Return the command of a suite: its options are the fields of the suite's model."""

    def run(options: Any) -> None:  # noqa: ANN401 - the suite's own
        figures = kind().figures(options)
        _print(figures.columns, figures.rows)
        for note in figures.notes:
            say(note)

    summary = (kind.__doc__ or "").partition("\n")[0]
    return Command(summary, kind.Options, (run,), examples=(_example(name, kind),))


def _example(name: str, kind: type[Suite]) -> str:
    """Return a suite's command line with the options that it needs."""
    words = ["cosqa suite", name]
    for key, field in kind.Options.model_fields.items():
        if field.is_required():
            named = [] if key in kind.Options.arguments else [f"--{key.replace('_', '-')}"]
            words += [*named, *map(str, (field.examples or [key])[:1])]
    return " ".join(words)


def _print(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    print_table("", header, rows, rest="a wider terminal, or a file: `cosqa suite ... > file`")
