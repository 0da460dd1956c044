"""How often committees are right on pairs with proved labels, judged by a reader of known error.

    python -m tests.bench.bench_judgement [--queries 61] [--candidates 20]

It goes through the product's own flow: a Prefect server, judges on Ray, the queue, the store and
real boxes; the model is the reader, which answers at once. The rival of each configuration is the
first one, which reads alone. A figure has its 95% interval (Wilson). False passes are wrong codes
labelled 1, false fails right codes labelled 0; near misses are wrong codes that many calls do not
show. A program is valid where it passed all gates, or failed an assertion and passed those that
come before. Words are those of requests that were sent and their replies: a specification is asked
for once a query. Seconds are those of the stage, with the start of its workers.
"""

import argparse
import asyncio
import os
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from prefect import flow
from pydantic import SecretStr
from rich.console import Console
from rich.table import Table
from scipy.stats import binomtest

from flows.annotate import judge_candidates
from flows.runtime.prefect_server import prefect_api
from infra.collected import Collected
from infra.ids import SearchId
from infra.ray import ensure_ray
from infra.records import Annotation, Candidate, Code, LanguageModelCall, Pair, Query, SourceInfo
from infra.settings import (
    AnnotationSettings,
    Configuration,
    LanguageModelSettings,
    SandboxSettings,
    Settings,
    StoreSettings,
)
from infra.store import Database, annotations, candidates, corpus, open_database
from infra.store.behaviours import behaviours_of
from infra.store.benchmarks import last_stage_runs
from sandbox.backends import make_sandbox
from tasks.runtime.references import SearchReference
from tasks.stages.annotate.plan import current_recipe
from tasks.stages.annotate.rounds import AnnotationRun
from tests.bench.provable_pairs.case import load_cases
from tests.bench.provable_pairs.made import ProvedPair, proved_pairs
from tests.fakes.fallible_reader import FallibleReader, Habits
from tests.fakes.llm_server import KEY

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

CONFIGURATIONS: tuple[Configuration, ...] = (
    "single", "paper", "gated", "spec",
)  # fmt: skip
TRAVELLED = "spec, compared"  # with the query's other candidates
_SEARCH = SearchId("proved")


class Judged(NamedTuple):
    """What a configuration says of the pairs.

    Attributes:
        annotations: Those of the pairs, in their order.
        agreed: The same with the labels on which the candidates of a query agree.
        seconds: What each stage took.
    """

    annotations: list[Annotation]
    agreed: list[Annotation]
    seconds: list[float]


def judged(folder: Path, made: Sequence[ProvedPair], base_url: str, name: Configuration) -> Judged:
    """Judge the pairs in a store of their own."""
    pairs = [Pair(query=Query.of(pair.query), code=Code.of(pair.code)) for pair in made]
    settings = Settings(
        llm=LanguageModelSettings(
            model="openai/stand-in", base_url=base_url, api_key=SecretStr(KEY)
        ),
        annotation=AnnotationSettings(configuration=name, canaries=0),
        store=StoreSettings(folder=folder / name),
    )
    database = open_database(settings.store)
    search = fill(database, pairs)
    recipe = current_recipe(settings, require_shown=True)

    @flow(name="bench-judgement")
    def judge() -> None:
        judge_candidates(AnnotationRun(search, recipe, settings))

    judge()
    found = annotations.load_annotations(database, recipe.recipe_id, [pair.key for pair in pairs])
    if len(found) != len(pairs):
        raise SystemExit(f"{len(found)} of {len(pairs)} pairs were judged: nothing is measured")
    seconds = [run.seconds for run in last_stage_runs(database, search.collection)]
    return Judged(found, [agreed(database, item) for item in found], seconds)


def fill(database: Database, pairs: Sequence[Pair]) -> SearchReference:
    """Store the pairs as the candidates of their queries."""
    queries = {pair.query.query_id: pair.query for pair in pairs}
    codes = {pair.code.code_id: pair.code for pair in pairs}
    info = SourceInfo(name="proved", licence="MIT", revision="1", location="here")
    content = Collected(info=info, queries=tuple(queries.values()), codes=tuple(codes.values()))
    corpus.replace_collections(database, "proved", {"c": content}, annotated="c")
    candidates.record_search(database, _SEARCH, "c", ["proved"], len(pairs))
    ranks: dict[str, int] = defaultdict(int)
    rows = []
    for pair in pairs:
        ranks[pair.query.query_id] += 1
        rows.append(
            Candidate(
                query_id=pair.query.query_id,
                code_id=pair.code.code_id,
                rank=ranks[pair.query.query_id],
                similarity=1.0,
                by_encoder={"proved": 1.0},
            )
        )
    candidates.add_candidates(database, _SEARCH, rows)
    return SearchReference(
        search_id=_SEARCH, collection="c", queries=len(queries), candidates=len(rows)
    )


def agreed(database: Database, annotation: Annotation) -> Annotation:
    """Return an annotation with the label that stands beside those of the other candidates."""
    for _, _, found in behaviours_of(database, annotation.key, annotation.recipe_id):
        return annotation.model_copy(update={"label": found.agreed})
    return annotation


def share(part: int, whole: int) -> str:
    """Return a share with its interval, in percent."""
    if not whole:
        return "-"
    interval = binomtest(part, whole).proportion_ci(0.95, method="wilson")
    return f"{part / whole:.1%} ({interval.low:.1%} to {interval.high:.1%})"


def _words(call: LanguageModelCall) -> int:
    """Return the words of a request and its reply; of one that was asked before, none."""
    return 0 if call.cached else (call.prompt_tokens or 0) + (call.completion_tokens or 0)


def row(
    pairs: Sequence[ProvedPair], annotations: Sequence[Annotation], seconds: float
) -> list[str]:
    """Return the figures of one configuration."""
    both = list(zip(pairs, annotations, strict=True))
    wrong = [item for pair, item in both if pair.label == 0]
    near = [item for pair, item in both if pair.is_near_miss]
    right = [item for pair, item in both if pair.label == 1]
    last = [run for item in annotations for run in item.executions[-1:]]
    reports = [run.oracle for run in last if run.oracle is not None]
    tokens = [sum(_words(call) for call in item.calls) for item in annotations]
    return [
        share(sum(item.label == pair.label for pair, item in both), len(both)),
        share(sum(item.label == 1 for item in wrong), len(wrong)),
        share(sum(item.label == 1 for item in near), len(near)),
        share(sum(item.label == 0 for item in right), len(right)),
        share(sum(not report.faults for report in reports), len(reports)),
        f"{sum(item.label is None for item in annotations)}",
        f"{fmean(tokens):,.0f}",
        f"{seconds / len(both):.2f}",
    ]


def by_kind(pairs: Sequence[ProvedPair], labels: dict[str, list[Annotation]]) -> Table:
    """Return the share of right labels by kind of code."""
    table = Table(title="right labels by kind of code", title_justify="left")
    for column in ("kind", "pairs", *labels):
        table.add_column(column, justify="left" if column == "kind" else "right")
    places = defaultdict(list)
    for place, pair in enumerate(pairs):
        places[pair.kind].append(place)
    for kind, those in sorted(places.items()):
        cells = [
            f"{fmean(found[place].label == pairs[place].label for place in those):.1%}"
            for found in labels.values()
        ]
        table.add_row(kind, str(len(those)), *cells)
    return table


async def proved(queries: int, most: int) -> list[ProvedPair]:
    """Return the pairs; what each code gives is proved in the sandbox."""
    sandbox = make_sandbox(SandboxSettings())
    try:
        return await proved_pairs(sandbox, load_cases()[:queries], most)
    finally:
        await sandbox.close()


def bench(options: argparse.Namespace) -> None:
    """Judge the pairs by each configuration, and print the tables."""
    habits = Habits(near_miss_errors=options.near_miss_errors)
    pairs = asyncio.run(proved(options.queries, options.candidates))
    table = Table(title=f"{len(pairs)} pairs, {habits}", title_justify="left")
    columns = ("accuracy", "false passes", "of near misses", "false fails", "valid", "no label")
    for column in ("configuration", *columns, "words a pair", "seconds a pair"):
        table.add_column(column)
    found: dict[str, list[Annotation]] = {}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        os.environ["PREFECT_HOME"] = str(folder / "prefect")
        stack.enter_context(prefect_api())
        ensure_ray(Settings().ray)
        for name in options.configurations:
            with FallibleReader(pairs, habits) as reader:
                of_it = judged(folder, pairs, reader.base_url, name)
            found[name] = of_it.annotations
            table.add_row(name, *row(pairs, of_it.annotations, of_it.seconds[0]))
            if name == "spec":
                found[TRAVELLED] = of_it.agreed
                table.add_row(TRAVELLED, *row(pairs, of_it.agreed, sum(of_it.seconds)))
    console = Console(width=200)
    console.print(table)
    console.print(by_kind(pairs, found))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=61, help="the first N queries (61)")
    parser.add_argument(
        "--candidates", type=int, default=20, help="codes a query, filled up with others' (20)"
    )
    parser.add_argument("--configurations", nargs="+", default=CONFIGURATIONS, help="which (all)")
    parser.add_argument(
        "--near-miss-errors", type=float, default=0.15, help="share of near misses misread (0.15)"
    )
    bench(parser.parse_args())
