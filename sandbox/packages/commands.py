"""The meaning of terminal commands: installations are recognised, all others are left to ``sh``.

Only installations bring anything into a box, by the way of `wheels`. A line is read as simple
commands with ``&&``, ``||``, ``;`` and line ends between them. One with other syntax of the shell
(substitutions, blocks, here documents) is left to ``sh`` as a whole, where an installation finds no
network.
"""

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import NamedTuple

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
        return _export(words[1:]) or Run(text)
    words = _strip_prefix(words)
    for read in (_pip, _apt):
        step = read(words)
        if step:
            return Run(text) if _SPECIAL.search(plain.replace(">=", "").replace("<=", "")) else step
    return Run(text)


def _export(words: Sequence[str]) -> Step | None:
    """Return the export of one variable; None where it is anything else."""
    match = _ASSIGNMENT.fullmatch(words[0]) if len(words) == 1 else None
    if match is None or "$" in match[2]:
        return None
    if _RESERVED.fullmatch(match[1]):
        return Remark(f"the variable {match[1]} is the box's own and stays as it is", 1)
    return Export(match[1], match[2])


def _strip_prefix(words: Sequence[str]) -> list[str]:
    """Return a command's words without ``sudo``, ``env`` and assignments before it."""
    rest = list(words)
    while rest and (rest[0] in ("sudo", "env", "-E", "-H") or _ASSIGNMENT.fullmatch(rest[0])):
        rest.pop(0)
    return rest


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


def _apt(words: Sequence[str]) -> Step | None:
    if words[:1] and words[0] in _APT:
        return Remark("the box has the Debian packages of its image, and gets no others", 1)
    return None
