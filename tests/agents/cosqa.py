"""Pairs of CoSQA's dev set with hand-written replies of every agent.

The replies stand in ``cosqa_replies.json`` by the pairs' ids; the pairs themselves are read from
the folder that ``COSQA_DATA`` names.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from infra.errors import BoxLostError
from infra.records import Code, ExecutionResult, Pair, Query
from tests.fakes.sandbox import FAILED, PASSED, FakeSandbox, raised
from tests.fakes.specified import SPECIFICATION

_REPLIES = Path(__file__).with_name("cosqa_replies.json")
_AGENTS = ("specifier", "screener", "writer", "blind_writer", "fixer", "arbiter")


@dataclass(frozen=True)
class Scripted:
    """A pair, what each agent says of it, and the label that must come out."""

    name: str
    pair: Pair
    replies: Mapping[str, Mapping[str, str]]

    @property
    def unclear(self) -> bool:
        """Whether it needs a test program."""
        return "arbiter" in self.replies

    @property
    def label(self) -> int:
        """The label that the replies lead to."""
        if self.unclear:
            return int(self.replies["arbiter"]["verdict"] == "answers")
        return int(self.replies["screener"]["verdict"] == "clear_match")

    def rules(self) -> Iterator[dict[str, Any]]:
        """Yield the scripted server's rules; no claim is run."""
        screening = {**self.replies["screener"], "adapter": "", "call": ""}
        if self.unclear:
            screening["verdict"] = "unclear_behaviour"
        said = {
            **self.replies,
            "specifier": SPECIFICATION | {"examples": "", "cannot_show": "open"},
            "screener": screening,
        }
        for role in _AGENTS:
            if role in said:
                query = self.pair.query.text
                yield {"role": role, "query": query, "steps": [{"reply": said[role]}]}


def scripted_pairs() -> list[Scripted]:
    """Return the pairs; skips the test where CoSQA's files are not there."""
    folder = os.environ.get("COSQA_DATA")
    if not folder:
        pytest.skip("COSQA_DATA does not name the folder of CoSQA's published files")
    published = json.loads((Path(folder) / "cosqa-dev.json").read_text("utf-8"))
    text_of = {item["idx"]: item for item in published}
    return [
        Scripted(
            name=said["id"],
            pair=Pair(
                query=Query.of(text_of[said["id"]]["doc"]),
                code=Code.of(text_of[said["id"]]["code"]),
            ),
            replies=said,
        )
        for said in json.loads(_REPLIES.read_text("utf-8"))
    ]


def as_the_labels_say(scripted: Sequence[Scripted], broken_every: int = 0) -> FakeSandbox:
    """Return boxes where programs end as the labels want it; every so many runs one breaks."""
    programs = {
        item.replies[role]["program"]: item.label
        for item in scripted
        for role in ("writer", "blind_writer")
        if role in item.replies
    }
    runs = count(1)

    def run(program: str, installed: frozenset[str]) -> ExecutionResult:
        if broken_every and next(runs) % broken_every == 0:
            raise BoxLostError("the box is gone")
        if program not in programs:
            return PASSED  # it was mended
        if "math." in program and "import math" not in program:
            return raised("NameError", "name 'math' is not defined")
        return PASSED if programs[program] else FAILED

    return FakeSandbox(run)
