"""The language model as a second stage of retrieval: it re-orders what another method found first.

A reply that cannot be read, or a prompt that the provider declines, leaves that query's order as it
was; how many there were is logged. A model that is out of reach or refuses the request ends the
run: its scores would be the first method's.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

import numpy as np
import numpy.typing as npt
from prefect.logging import get_logger

from agents import Endpoint, Reranker, build_model
from infra.errors import LanguageModelError, PromptDeclinedError, UnreadableReplyError
from infra.records import Code, Query
from infra.settings import Settings
from tasks.benchmarks import Benchmark
from tasks.benchmarks.runs import NOTHING, Rankings
from tasks.ranking.methods import Rerank
from tasks.stages.annotate.model_server import served_model

WINDOW = 10  # results that the model sees at once


def reranker(benchmark: Benchmark, settings: Settings) -> Rerank:
    """Return what puts the first results of rankings of a benchmark in the model's order."""
    queries: dict[str, Query] = {query.query_id: query for query in benchmark.queries}
    codes = {code.code_id: code for code in benchmark.codes}

    def rerank(rankings: Rankings) -> Rankings:
        if settings.llm.is_demo:
            get_logger("rerank").warning(
                "%s only demonstrates re-ranking: its order says nothing about the codes",
                settings.llm.model,
            )
        lists = [
            (queries[query], [codes[rankings.code_ids[code]] for code in row if code != NOTHING])
            for query, row in zip(
                rankings.query_ids, rankings.codes[:, :WINDOW].tolist(), strict=True
            )
        ]
        with served_model(settings.llm) as endpoint, asyncio.Runner() as runner:
            orders = runner.run(_orders(lists, settings, endpoint))
        kept = sum(order is None for order in orders)
        get_logger("rerank").info("%s lists re-ranked, %s left as they were", len(orders), kept)
        return Rankings(
            rankings.query_ids, rankings.code_ids, _reordered(rankings.codes, orders),
            rankings.scores,
        )  # fmt: skip

    return rerank


async def _orders(
    lists: Sequence[tuple[Query, Sequence[Code]]], settings: Settings, endpoint: Endpoint | None
) -> list[list[int] | None]:
    """Return for each list positions in it, None where the model could not say."""
    model = build_model(settings, endpoint)
    agent = Reranker(model)
    found: list[list[int] | None] = [None] * len(lists)
    waiting = iter(enumerate(lists))

    async def work() -> None:
        for number, (query, codes) in waiting:
            with suppress(UnreadableReplyError, PromptDeclinedError):
                found[number] = await agent.order(query, codes)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(settings.annotation.concurrency):
                group.create_task(work())
    except* LanguageModelError as errors:
        raise errors.exceptions[0] from None
    finally:
        await model.close()
    return found


def _reordered(
    codes: npt.NDArray[np.int64], orders: Sequence[Sequence[int] | None]
) -> npt.NDArray[np.int64]:
    reordered = codes.copy()
    for row, order in zip(reordered, orders, strict=True):
        if order is not None:
            row[: len(order)] = row[list(order)]
    return reordered
