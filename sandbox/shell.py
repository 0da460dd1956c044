"""The terminal of a box: installations are recognised, all else runs offline, by ``sh``.

Only installations bring anything into a box, by the way of `Box.install`. A line is read as simple
commands with ``&&``, ``||``, ``;`` and line ends between them. One with other syntax of the shell
(substitutions, blocks, here documents) is left to ``sh`` as a whole, where an installation finds no
network.
"""

import re
import shlex
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from sandbox.base import InstallResult, ShellResult

_LONGEST_LINE = 2_000  # characters
_MOST_STEPS = 20
_KEPT_OUTPUT = 4_000  # characters of a line's output, from its end
_FAILED = 1
_TOO_MUCH = 2
_OPERATORS = ("&&", "||", ";", "\n")
_OTHER_SYNTAX = re.compile(r"[`({]|\$\(|<<|^\s*(if|for|while|until|case|function)\b", re.MULTILINE)
_DISCARDED = re.compile(r"\s*(?:[12&]?>>?\s*/dev/null|2>&1)(?=\s|$)")
_SPECIAL = re.compile(r"[|&<>$*?]")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_PIP = re.compile(r"(?:.*/)?pip[0-9.]*")
_PYTHON = re.compile(r"(?:.*/)?python[0-9.]*")
_APT = {"apt", "apt-get", "aptitude"}
_PIP_FLAGS = re.compile(
    r"-[qvUI]+|--(quiet|verbose|upgrade|user|no-cache-dir|no-input|break-system-packages|pre|"
    r"force-reinstall|ignore-installed|prefer-binary|disable-pip-version-check|"
    r"no-warn-script-location|no-warn-conflicts|(root-user-action|progress-bar|timeout|retries|"
    r"default-timeout)=\S+)"
)
# What decides which code a process loads, or where it looks for everything else.
_RESERVED = re.compile(
    r"(LD|PYTHON|PIP|GCONV|GLIBC|MALLOC|OPENSSL|SSL|BASH|COSQA)(_.*)?|PYTHON.*|.*(PATH|PRELOAD)|"
    r"HOME|PATH|IFS|ENV|SHELL|TZ|LANG|LC_.*|NLSPATH|RES_OPTIONS|HOSTALIASES|LOCALDOMAIN|"
    r"OMP_TOOL.*|NUMBA_.*|NLTK_DATA|ODBC.*"
)


class Install(NamedTuple):
    """An installation of distributions."""

    requirements: tuple[str, ...]


class Export(NamedTuple):
    """A variable for the runs and commands that follow."""

    name: str
    value: str


class Remark(NamedTuple):
    """A command that is answered without being run.

    Attributes:
        text: The answer.
        status: The exit status that stands for it.
    """

    text: str
    status: int


class Run(NamedTuple):
    """A command for ``sh``, without a network."""

    command: str


Step = Install | Export | Remark | Run


class Terminal(Protocol):
    """A backend's results of the commands of a box."""

    async def install(self, requirements: Sequence[str]) -> InstallResult:
        """Install distributions; see ``Box.install``."""
        ...

    async def execute(self, command: str) -> ShellResult:
        """Run a command without a network; see ``Box.shell``."""
        ...

    def export(self, name: str, value: str) -> None:
        """Set a variable for the runs and commands that follow."""
        ...


async def shell(terminal: Terminal, line: str) -> ShellResult:
    """Return the result of a line of commands; see ``Box.shell``."""
    started = time.monotonic()
    if len(line) > _LONGEST_LINE:
        return ShellResult(status=_TOO_MUCH, output=f"longer than {_LONGEST_LINE} characters")
    outputs: list[str] = []
    installed: list[str] = []
    status: int | None = 0
    steps = steps_of(line)
    for operator, step in steps[:_MOST_STEPS]:
        if (operator == "&&" and status != 0) or (operator == "||" and status == 0):
            continue
        result = await _perform(terminal, step)
        status = result.status
        outputs.append(result.output)
        installed += result.installed
    if len(steps) > _MOST_STEPS:
        status = _TOO_MUCH
        outputs.append(f"only the first {_MOST_STEPS} commands of the line were run")
    return ShellResult(
        status=status,
        output="\n".join(filter(None, outputs))[-_KEPT_OUTPUT:],
        installed=tuple(installed),
        seconds=time.monotonic() - started,
    )


async def _perform(terminal: Terminal, step: Step) -> ShellResult:
    match step:
        case Install(requirements):
            result = await terminal.install(requirements)
            if not result.ok:
                return ShellResult(status=_FAILED, output=result.message)
            listing = f"installed {' '.join(result.installed)}".strip()
            return ShellResult(status=0, output=listing, installed=requirements)
        case Export(name, value):
            terminal.export(name, value)
            return ShellResult(status=0)
        case Remark(text, status):
            return ShellResult(status=status, output=text)
        case _:
            return await terminal.execute(step.command)


def steps_of(line: str) -> list[tuple[str, Step]]:
    """Return the simple commands of a line, each with the operator before it ("" for the first)."""
    if "\0" in line:
        return [("", Remark("a command holds no NUL character", 2))]
    parts = list(_split(line))
    steps = [(operator, _step_of(text)) for operator, text in parts]
    if _OTHER_SYNTAX.search(line) or all(isinstance(step, Run) for _, step in steps):
        return [("", Run(line))]
    return steps


def _split(line: str) -> Iterator[tuple[str, str]]:
    """Yield operator and text of the commands of a line; operators in quotes are text."""
    operator, start, place, quote = "", 0, 0, ""
    while place < len(line):
        sign = line[place]
        found = next((o for o in _OPERATORS if not quote and line.startswith(o, place)), "")
        if sign == "\\" and quote != "'":
            place += 1
        elif sign in "'\"" and quote in ("", sign):
            quote = "" if quote else sign
        elif found:
            if line[start:place].strip():
                yield operator, line[start:place].strip()
                operator = found
            start = place + len(found)
            place = start - 1
        place += 1
    if line[start:].strip():
        yield operator, line[start:].strip()


def _step_of(text: str) -> Step:
    plain = _DISCARDED.sub("", text)
    try:
        words = shlex.split(plain, comments=True)
    except ValueError:
        return Run(text)
    if words[:1] == ["export"]:
        match = _ASSIGNMENT.fullmatch(words[1]) if len(words) == 2 else None
        if match is None or "$" in match[2]:  # anything else than one variable
            return Run(text)
        if _RESERVED.fullmatch(match[1]):
            return Remark(f"the variable {match[1]} is the box's own and stays as it is", 1)
        return Export(match[1], match[2])
    while words and (words[0] in ("sudo", "env", "-E", "-H") or _ASSIGNMENT.fullmatch(words[0])):
        words.pop(0)
    step = _pip(words)
    if words and words[0] in _APT:
        step = Remark("the box has the Debian packages of its image, and gets no others", 1)
    is_special = _SPECIAL.search(plain.replace(">=", "").replace("<=", ""))
    return Run(text) if step is None or is_special else step


def _pip(words: Sequence[str]) -> Step | None:
    if words[:1] and _PYTHON.fullmatch(words[0]) and words[1:2] == ["-m"]:
        words = words[2:]
    if words[:2] == ["uv", "pip"]:
        words = words[1:]
    if len(words) < 2 or not _PIP.fullmatch(words[0]) or words[1] != "install":
        return None
    options = [word for word in words[2:] if word.startswith("-")]
    names = tuple(word for word in words[2:] if not word.startswith("-"))
    if refused := [word for word in options if not _PIP_FLAGS.fullmatch(word)]:
        return Remark(f"pip takes names with versions here, and not {refused[0]}", 2)
    return Install(names) if names else Remark("pip: no distribution is named", 1)
