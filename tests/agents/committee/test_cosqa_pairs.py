"""Whole judgements of real pairs, with hand-written replies and real boxes; and with faults.

A fault is what providers do: too many requests, errors of theirs, silence, broken JSON, refusals,
nothing at all, noise. Of whatever comes, every pair ends in a recorded state.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest

from agents import Committee
from infra.records import Annotation, Pair, Query
from infra.settings import SandboxSettings
from sandbox.base import Sandbox
from tests.agents.conftest import Bench
from tests.agents.cosqa import Scripted, as_the_labels_say, scripted_pairs
from tests.fakes.llm_server import ScriptedServer
from tests.fakes.sandbox import PASSED, FakeSandbox
from tests.real_sandbox import real_sandbox

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
    healthy = bench.committee(
        FakeSandbox(lambda program, installed: PASSED), configuration="spec", evidence="read"
    )
    again = [item.pair for item, old in zip(pairs, made, strict=True) if old.status == "failed"]
    assert {item.status for item in await judge_all(healthy, again, 16)} <= {
        "labelled",
        "undecided",
    }


class PlainServer(FaultyServer):
    """The same server on a good day."""

    def _step(self, call: Mapping[str, Any]) -> Mapping[str, Any]:
        return ScriptedServer._step(self, {**call, "query": call["query"].rpartition(" #")[0]})
