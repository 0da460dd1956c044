"""What benchmarks of judging share: stored pairs, ideal times, boxes of which some are real."""

import heapq
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager

from infra.collected import Collected
from infra.identity import SearchId
from infra.records import Candidate, Pair, SourceInfo
from infra.settings import SandboxSettings
from infra.store import Database, candidates, corpus
from sandbox.backends import backends, make_sandbox
from sandbox.base import Box
from tasks.runtime.references import SearchReference
from tests.agents.judging import made_up_sandbox

LATENCY_S = 1.0
CALLS = (3, 1, 1)  # of every three pairs: screener, writer and arbiter, or the screener alone
NAME = "partly-real"
REAL = "BENCH_REAL_BOXES"
"""Environment variable: one of every so many codes of `tests.agents.judging.pairs`; 0 is none."""


class PartlyReal:
    """A sandbox whose boxes are real for some codes and stubs for the rest.

    Args:
        settings: Those of the real ones.
        is_real: Says of a code whether its box is real; None gives none to any.
    """

    def __init__(self, settings: SandboxSettings, is_real: Callable[[str], bool] | None) -> None:
        self._is_real = is_real
        self._engine = make_sandbox(settings)
        self._stub = made_up_sandbox()

    async def check(self) -> str:
        """Return what runs the real ones."""
        return await self._engine.check() if self._is_real else "stub"

    def box(
        self, code: str, *, bare: bool = False, language: str = "python"
    ) -> AbstractAsyncContextManager[Box]:
        """Return a box of either kind."""
        is_real = self._is_real is not None and self._is_real(code)
        return (self._engine if is_real else self._stub).box(code, bare=bare)

    async def close(self) -> None:
        """Remove the real boxes."""
        await self._engine.close()


def register() -> None:
    """Register the backend, in whichever process calls this."""

    def make(settings: SandboxSettings) -> PartlyReal:
        every = int(os.environ.get(REAL, "0"))

        def is_real(code: str) -> bool:
            return int(code.rpartition("x + ")[2]) % every == 0

        docker = settings.model_copy(update={"backend": "docker"})
        return PartlyReal(docker, is_real if every else None)

    if NAME not in backends._entries:
        backends.register(NAME)(make)


def search_of(queries: int, candidates: int) -> SearchReference:
    """Return the reference to the search that `fill` stores."""
    return SearchReference(
        search_id=SearchId("made-up"), collection="c", queries=queries, candidates=candidates
    )


def fill(database: Database, pairs: Sequence[Pair]) -> SearchReference:
    """Store the pairs as the candidates of their queries."""
    queries = {pair.query.query_id: pair.query for pair in pairs}
    codes = {pair.code.code_id: pair.code for pair in pairs}
    info = SourceInfo(name="made up", licence="MIT", revision="1", location="here")
    content = Collected(info=info, queries=tuple(queries.values()), codes=tuple(codes.values()))
    corpus.replace_collections(database, "print", {"c": content}, annotated="c")
    search = search_of(len(queries), len(pairs))
    candidates.record_search(database, search.search_id, "c", ["made-up"], len(pairs))
    rows, ranks = [], Counter[str]()
    for pair in pairs:
        ranks[pair.query.query_id] += 1
        ids = {"query_id": pair.query.query_id, "code_id": pair.code.code_id}
        rank = ranks[pair.query.query_id]
        rows.append(Candidate(**ids, rank=rank, similarity=1.0, by_encoder={"made-up": 1.0}))
    candidates.add_candidates(database, search.search_id, rows)
    return search


def calls_of(number: int) -> int:
    """Return how many calls so many pairs take."""
    return sum(CALLS[pair % len(CALLS)] for pair in range(number))


def print_ideals(number: int, places: int, taken: float, boxes: Mapping[str, float]) -> None:
    """Print the seconds taken beside the ideals; ``boxes`` are seconds of executions alone."""
    calls, free = calls_of(number), [0.0] * places
    for pair in range(number):  # each takes the next free place
        heapq.heapreplace(free, free[0] + CALLS[pair % len(CALLS)] * LATENCY_S)
    ideals = {
        f"{calls} calls x {LATENCY_S:g} s / {places} places": calls * LATENCY_S / places,
        "the same latencies in the same order": max(free),
        **boxes,
    }
    for name, ideal in ideals.items():
        if ideal:
            print(f"ideal {ideal:6.1f} s, taken {taken:6.1f} s, share {ideal / taken:.2f}: {name}")
