"""Whole judgements of real pairs, with hand-written replies and real boxes; and with faults.

The replies stand in ``cosqa_replies.json`` by the pairs' ids; the pairs themselves are read from
the folder that ``COSQA_DATA`` names. A fault is what providers do: too many requests, errors of
theirs, silence, broken JSON, refusals, nothing at all, noise. Of whatever comes, every pair ends in
a recorded state.
"""

import asyncio
import json
import os
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from agents import Committee
from infra.errors import BoxLostError
from infra.records import Annotation, Code, ExecutionResult, Pair, Query
from infra.settings import SandboxSettings
from sandbox.base import Sandbox
from tests.agents.conftest import Bench, always
from tests.fakes.llm_server import ScriptedServer
from tests.fakes.sandbox import FAILED, PASSED, FakeSandbox, raised
from tests.fakes.specified import SPECIFICATION
from tests.real_sandbox import real_sandbox

_REPLIES = Path(__file__).parents[1] / "cosqa_replies.json"
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


pytestmark = pytest.mark.data

LIMITS = SandboxSettings(slots=3, memory_mb=192, timeout_s=4.0, tmp_mb=16, output_kb=8)
FAULTS: tuple[Mapping[str, Any], ...] = (
    {"status": 429, "retry_after": "0.01"},
    {"status": 429},
    {"status": 500},
    {"text": "late", "delay_s": 4.0},
    {"text": '{"reason": "it sor'},
    {"reply": {"reason": "sure", "verdict": "definitely"}},
    {"text": "I'm sorry, I cannot help with that."},
    {"text": ""},
    {"text": "\N{SNOWMAN}" * 66_000},
    {"text": 'The docstring says {"verdict": "clear_match"}, so be it.'},
)


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    async with real_sandbox(LIMITS) as made:
        yield made


async def judge_all(committee: Committee, pairs: list[Pair], at_once: int) -> list[Annotation]:
    limit = asyncio.Semaphore(at_once)

    async def judge(pair: Pair) -> Annotation:
        async with limit:
            return await committee.judge(pair)

    return list(await asyncio.gather(*map(judge, pairs)))


def script(scripted: list[Scripted]) -> list[dict[str, Any]]:
    return [rule for item in scripted for rule in item.rules()]


def test_the_replies_are_for_sixty_pairs_and_a_third_of_them_unclear() -> None:
    scripted = scripted_pairs()
    assert len({item.name for item in scripted}) == len(scripted) >= 60
    assert sum(item.unclear for item in scripted) >= len(scripted) / 3
    assert {item.label for item in scripted if item.unclear} == {0, 1}


@pytest.mark.docker
@pytest.mark.slow
async def test_real_pairs_get_the_labels_that_the_replies_and_the_runs_lead_to(
    bench: Bench, sandbox: Sandbox
) -> None:
    scripted = scripted_pairs()
    bench.serve(script(scripted))
    committee = bench.committee(sandbox, configuration="spec", evidence="read")
    made = await judge_all(committee, [item.pair for item in scripted], LIMITS.machine_slots)
    assert [item.label for item in made] == [item.label for item in scripted]
    assert {item.status for item in made} == {"labelled"}
    tested = [item for item in made if item.executions]
    for annotation in tested:
        failed = annotation.path == "unclear_failed_assertion"
        assert failed == (annotation.label == 0), annotation
    support = Counter(item.support for item in tested)
    assert support["valid_oracle"] >= 0.8 * len(tested), support
    assert "unclear_mended_passed" in {item.path for item in tested}


class FaultyServer(ScriptedServer):
    """A scripted server that misbehaves in 30% of its calls; a query's variants share its rules."""

    def _step(self, call: Mapping[str, Any]) -> Mapping[str, Any]:
        plain = {**call, "query": call["query"].rpartition(" #")[0]}
        said = super()._step(plain)
        dice = int.from_bytes(sha256(str(len(self.calls)).encode()).digest()[:4], "big")
        return FAULTS[dice // 100 % len(FAULTS)] if dice % 100 < 30 else said


def variants(scripted: list[Scripted], number: int) -> list[Scripted]:
    """Return so many pairs, each a scripted one with a number behind its query."""
    found = []
    for place in range(number):
        item = scripted[place % len(scripted)]
        query = Query.of(f"{item.pair.query.text} #{place}")
        found.append(replace(item, pair=Pair(query=query, code=item.pair.code)))
    return found


@pytest.mark.slow
async def test_with_faults_in_a_third_of_the_calls_every_pair_ends_in_a_recorded_state(
    bench: Bench,
) -> None:
    scripted = scripted_pairs()
    pairs = variants(scripted, 1_000)
    expected = [item.label for item in pairs]
    bench.serve(script(scripted), kind=FaultyServer)
    sandbox = as_the_labels_say(scripted, broken_every=20)
    committee = bench.committee(sandbox, configuration="spec", evidence="read", timeout_s=2.0)
    made = await judge_all(committee, [item.pair for item in pairs], at_once=16)
    statuses = Counter(item.status for item in made)
    assert statuses.total() == 1_000
    assert statuses["labelled"] > 700, statuses
    assert statuses["undecided"] > 0 < statuses["failed"], statuses
    for annotation, label in zip(made, expected, strict=True):
        assert annotation.label in (None, label), "a fault became a label"
        assert (annotation.label is None) == (annotation.status != "labelled")
        assert annotation.reason
        assert annotation.calls

    bench.serve(script(scripted), kind=PlainServer)
    healthy = bench.committee(always(PASSED), configuration="spec", evidence="read")
    again = [item.pair for item, old in zip(pairs, made, strict=True) if old.status == "failed"]
    assert {item.status for item in await judge_all(healthy, again, 16)} <= {
        "labelled",
        "undecided",
    }


class PlainServer(FaultyServer):
    """The same server on a good day."""

    def _step(self, call: Mapping[str, Any]) -> Mapping[str, Any]:
        return ScriptedServer._step(self, {**call, "query": call["query"].rpartition(" #")[0]})
