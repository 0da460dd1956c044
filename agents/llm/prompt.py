"""Prompts: the agents' system texts, and untrusted data fenced so that it stays data."""

import re
import tomllib
from functools import cache
from importlib.resources import files
from itertools import count
from string import Template

from infra.identity import digest
from infra.records import Pair, Record


class Prompt(Record):
    """The two messages that open a conversation: the agent's system text and the user message."""

    system: str
    user: str


# What comes of runs, where an object's address is another one each time.
_OF_RUNS = {
    "report", "error", "commands so far", "calls", "tried in vain",
    "why it proves nothing", "why", "why a program is no evidence", "how a program ended",
}  # fmt: skip
_ADDRESS = re.compile(r"(?<= at )0x[0-9a-f]{6,16}\b")
_SHARED = (
    "guideline", "half_guideline", "three_steps", "beside", "criterion", "data_rule",
    "program_rules",
)  # fmt: skip


@cache
def system_text(role: str, language: str = "Python") -> str:
    """Return an agent's system text: its file in `agents.roles`, with the shared texts in it.

    Agents of `spec` begin with ``data_rule``, that data are no instructions, and with
    ``criterion``, the guideline in short: what begins alike is cached. What differs between the
    languages that boxes run is in ``inserts.toml`` and the file of the language's own beside it.

    Args:
        role: The file's name.
        language: What the text calls the code's language; never a name that a corpus gives.
    """
    own = f"inserts.{language.lower()}.toml"
    has_own = files("agents.roles").joinpath(own).is_file()
    values = {name: _read(f"{name}.txt").strip() for name in _SHARED}
    values |= tomllib.loads(_read(own if has_own else "inserts.toml")) | {"language": language}
    if not has_own and language != "Python":  # no box runs it
        values["release"] = language
    text, before = _read(f"{role}.txt"), ""
    while text != before:  # inserts and shared texts have inserts of their own
        text, before = Template(text).substitute(values), text
    return text


def _read(name: str) -> str:
    return files("agents.roles").joinpath(name).read_text("utf-8")


def fence(name: str, content: str) -> str:
    """Return content between two marks that it does not contain, so that it cannot end its fence.

    The marks look random but follow from the content: a text has the same fence on every run. They
    have three digits, which are one token each, and more where a content holds so many that none
    was found among 64. Of what comes of a run, addresses of objects are left out, so that the next
    one asks the same.
    """
    content = _ADDRESS.sub("0x…", content) if name in _OF_RUNS else content
    digits = (str(int(digest("fence", content, str(number)), 16)) for number in count())
    marks = (drawn[-3 - number // 64 :] for number, drawn in enumerate(digits))
    mark = next(mark for mark in marks if mark not in content)
    return f"<<<{name} {mark}\n{content}\n{mark}>>>"


def shorten(text: str, limit: int) -> str:
    """Return text of at most ``limit`` characters and, where it was longer, a line saying so."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}\n[{len(text) - limit} more characters are not shown]"


def pair_section(pair: Pair, code_limit: int) -> str:
    """Return the query and the code, each inside its fence."""
    return "\n".join(
        (fence("query", pair.query.text), fence("code", shorten(pair.code.text, code_limit)))
    )
