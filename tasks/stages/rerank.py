"""Re-ranking: the language model re-orders the first results of another retrieval method.

An unreadable reply, or a prompt that the provider declines, leaves that query's order unchanged;
their number is logged. A model that is unavailable or refuses requests ends the run, since the
scores would be those of the first method.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from prefect.logging import get_logger

from agents import Reranker, build_model
from infra.errors import LanguageModelError, PromptDeclinedError, UnreadableReplyError
from infra.records import Code, Query
from infra.settings import Settings
from tasks.benchmarks import Benchmark, columns_of
from tasks.benchmarks.runs import NOTHING, Rankings
from tasks.ranking.methods import Rerank
from tasks.stages.annotate.languages import refuse_others

WINDOW = 10  # results in one prompt


def reranker(benchmark: Benchmark, settings: Settings) -> Rerank:
    """Return a function that re-orders the first results of a benchmark's rankings by the model.

    It raises ``SettingsError`` if the benchmark has code in a language that the agents do not know.
    """

    def rerank(rankings: Rankings) -> Rankings:
        written = Counter(columns_of(benchmark).codes.column("language").to_pylist())
        refuse_others(benchmark.name, written, "score it by methods without llm:")
        lists = _lists(benchmark, rankings)
        orders = asyncio.run(_orders(lists, settings))
        codes = rankings.codes.copy()
        for row, order in zip(codes, orders, strict=True):
            if order is not None:
                row[: len(order)] = row[order]
        unchanged = sum(order is None for order in orders)
        get_logger("rerank").info(
            "%s lists re-ranked, %s of them unchanged", len(orders), unchanged
        )
        return Rankings(rankings.query_ids, rankings.code_ids, codes, rankings.scores)

    return rerank


def _lists(benchmark: Benchmark, rankings: Rankings) -> list[tuple[Query, list[Code]]]:
    """Return each query with its first results; records are made of these codes alone."""
    first = rankings.codes[:, :WINDOW]
    shown = [rankings.code_ids[code] for code in np.unique(first).tolist() if code != NOTHING]
    columns = columns_of(benchmark)
    is_shown = pc.is_in(columns.codes.column("code_id"), value_set=pa.array(shown, pa.string()))
    codes: dict[str, Code] = {code.code_id: code for code in columns.codes.where(is_shown)}
    queries: dict[str, Query] = {query.query_id: query for query in columns.queries}
    return [
        (queries[query], [codes[rankings.code_ids[code]] for code in row if code != NOTHING])
        for query, row in zip(rankings.query_ids, first.tolist(), strict=True)
    ]


async def _orders(
    lists: Sequence[tuple[Query, Sequence[Code]]], settings: Settings
) -> list[list[int] | None]:
    """Return for each list its order as positions, or None without a readable reply."""
    model = build_model(settings)
    agent = Reranker(model)
    orders: list[list[int] | None] = [None] * len(lists)
    numbered = iter(enumerate(lists))
    failures: list[LanguageModelError] = []

    async def work() -> None:
        for number, (query, codes) in numbered:
            if failures:
                return  # what is in flight is waited for: it will be billed
            try:
                with suppress(UnreadableReplyError, PromptDeclinedError):
                    orders[number] = await agent.order(query, codes)
            except LanguageModelError as error:
                failures.append(error)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(settings.annotation.in_flight):
                group.create_task(work())
    finally:
        await model.close()
    if failures:
        raise failures[0]
    return orders
