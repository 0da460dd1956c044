"""The report of a run: one page of figures from the store."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow.compute as pc

from agents.roles.read import Screener
from infra.records import Record
from infra.store import Database, benchmarks, corpus
from infra.store.annotations import load_recipe, model_of
from infra.store.benchmarks import Published
from infra.store.figures import label_figures, reading_figures
from infra.store.labels import CurrentLabels
from tasks.benchmarks import read_manifest
from tasks.inputs.tables import read_table
from tasks.metrics import STANDARD
from tasks.reports.leaderboard import LanguageRow, language_rows
from tasks.reports.run import (
    AgentsPart,
    BenchmarkScores,
    CollectionCounts,
    ReportData,
    report_document,
)
from tasks.runtime.caching import stage
from tasks.runtime.progress import artifact_key, get_run_logger, time_of_writing, write_pages
from tasks.runtime.references import CollectedSource
from tasks.stages.annotate.gold import stored_gold_counts
from tasks.stages.labels import labels_of_agents
from tasks.stages.scoring import method_key


class WrittenReport(Record):
    """A written report: its file, and the figures that commands print.

    Attributes:
        file: The page.
        benchmarks: The methods' mean scores on each benchmark.
        links: Benchmark → its folder.
    """

    file: Path
    benchmarks: tuple[BenchmarkScores, ...]
    links: dict[str, str]


@stage("report", "report on {source.main.name}")
def write_report(
    database: Database,
    source: CollectedSource,
    published: Sequence[Published],
    methods: Sequence[str],
    depth: int,
    folder: Path,
) -> WrittenReport:
    """Write the report into the folder of benchmarks, and as an artifact."""
    data = gather_report(database, source, published, methods, depth)
    key = artifact_key("report", source.main.name)
    write_pages(folder, "report", report_document(data), {}, key=key, about=data.title)
    file = report_file(folder)
    get_run_logger().info("report: %s", file)
    return WrittenReport(file=file, benchmarks=data.benchmarks, links=data.links)


def report_file(folder: Path) -> Path:
    """Return the page in a folder of benchmarks."""
    return folder.resolve() / "report.html"


def gather_report(
    database: Database,
    source: CollectedSource,
    published: Sequence[Published],
    methods: Sequence[str],
    depth: int,
) -> ReportData:
    """Return the data of the report on a source's collections and their exports."""
    labels = labels_of_agents(database, source)
    current = labels.current if labels else None
    counts = []
    for collection in source.collections:
        info, dropped = corpus.load_source(database, collection.name)
        counts.append(
            CollectionCounts(
                name=collection.name,
                source=info,
                queries=collection.queries,
                codes=collection.codes,
                labels=corpus.count_source_labels(database, collection.name),
                dropped=dropped,
            )
        )
    return ReportData(
        title=f"{source.main.name}: benchmark report",
        generated_at=time_of_writing(),
        benchmarks=tuple(_scores(database, item, methods, depth) for item in published),
        collections=tuple(counts),
        candidates=source.search.candidates,
        agents=_agents(database, current) if current else None,
        links={item.name: item.folder for item in published},
        browse=f"cosqa browse --store {database.settings.folder}",
    )


def _scores(
    database: Database, published: Published, methods: Sequence[str], depth: int
) -> BenchmarkScores:
    keys = [method_key(method, depth) for method in methods]
    means = benchmarks.mean_scores(database, published.benchmark_id, keys, STANDARD)
    folder = Path(published.folder)
    manifest = read_manifest(folder)
    languages: tuple[LanguageRow, ...] = ()
    if not manifest.sealed:
        labels = read_table(folder / "labels.parquet", ("query_id", "code_id", "relevance"))
        codes = read_table(folder / "codes.parquet", ("code_id", "language"))
        relevant = labels.filter(pc.greater(labels["relevance"], 0))
        found = relevant.join(codes, "code_id").select(["query_id", "language"])
        named = pc.if_else(pc.equal(found["language"], ""), "python", found["language"])
        # Each query in the languages of the code that answers it.
        answered = found.set_column(1, "language", named)
        languages = language_rows(
            benchmarks.mean_scores_by_language(database, published.benchmark_id, keys, answered)
        )
    return BenchmarkScores(
        name=published.name,
        label_origin=published.label_origin,
        queries=benchmarks.count_scored_queries(database, published.benchmark_id),
        codes=manifest.counts["codes"],  # which may be fewer than were collected
        depth=depth,
        methods=means,
        languages=languages,
    )


def _agents(database: Database, labels: CurrentLabels) -> AgentsPart:
    rounds = labels.sets[0]
    gold = stored_gold_counts(database, rounds)
    figures = label_figures(database, labels)
    former = sum(number for giver, number in figures.recipes.items() if giver not in rounds)
    return AgentsPart(
        model=model_of(load_recipe(database, rounds[0])),
        recipe_id=rounds[0],
        figures=figures,
        former=former,
        reading=reading_figures(database, rounds, Screener.role),
        gold=gold if gold.judged else None,
        rounds=len(rounds),
    )
