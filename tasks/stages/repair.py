"""Repair of a benchmark: its doubtful pairs pooled, and its next version written.

Agents judge pairs of the store, whose ids follow from content; the benchmark's own ids lead there
by `content_ids` and back, so that the next version has them. A grade is changed where agents say
the contrary, and added where there is none; all others stay, with their origin.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from infra.errors import PublishError
from infra.identity import CodeId, PairKey, QueryId
from infra.records import Annotation, Label, Record
from infra.settings import PublishSettings, ScoringSettings, SourceSettings
from infra.store import Database
from infra.store.evidence import EvidenceSelection
from infra.store.labels import decide_labels
from tasks.benchmarks import AnnotationStream, Benchmark, qrels_of, write_benchmark
from tasks.benchmarks.benchmark import LabelRecipe, fit_name
from tasks.benchmarks.interchange import mteb_files
from tasks.benchmarks.licences import UNLICENSED, without_unlicensed
from tasks.benchmarks.runs import Rankings
from tasks.inputs.formats import benchmark_at
from tasks.reports.diff import score_changes
from tasks.reports.leaderboard import Unjudged, unjudged_results
from tasks.reports.render import markdown_page
from tasks.reports.repair import (
    CHANGES,
    LabelChange,
    RepairFigures,
    maintainers_text,
    repair_document,
)
from tasks.reports.text import counted
from tasks.runtime.caching import stage
from tasks.runtime.progress import artifact_key, get_run_logger, write_pages
from tasks.runtime.references import SearchReference
from tasks.sources.benchmark import content_ids
from tasks.stages.annotate.plan import AnnotationRun
from tasks.stages.coverage import labels_by
from tasks.stages.labels import StoredAnnotations, label_recipes
from tasks.stages.leaderboard import compared_methods, read_rankings
from tasks.stages.pooling import record_pool
from tasks.stages.scoring import OpenBenchmark, Run

PAGE = "repair"
_NEXT = "-repaired"


class WrittenRepair(Record):
    """A written repair: the next version's folder, that of the page, and the figures."""

    version: Path
    folder: Path
    figures: RepairFigures


class PooledPair(NamedTuple):
    """A pair to judge: its ids in the benchmark, its ids by content, the methods that found it."""

    own: PairKey
    stored: PairKey
    rank: int
    methods: tuple[str, ...]


def source_to_repair(path: Path) -> SourceSettings:
    """Return the settings of a benchmark as a source, in a collection that no other command has."""
    found = benchmark_at(path, usual="test")
    name = fit_name(found.name if found else path.name, "benchmark")
    given = {"name": "benchmark", "path": path, "collection": f"repair-{name}"[:100]}
    return SourceSettings.model_validate(given)


def version_folder(benchmark: OpenBenchmark, settings: PublishSettings) -> Path:
    """Return the folder of a benchmark's next version.

    Raises:
        PublishError: That is the folder of the benchmark itself.
    """
    folder = settings.folder.resolve() / f"{benchmark.name}{_NEXT}"
    if folder == Path(benchmark.published.folder).resolve():
        raise PublishError(f"{folder} is the benchmark itself: give another --output")
    return folder


def require_repairable(benchmark: OpenBenchmark, settings: PublishSettings) -> None:
    """Refuse, before anything is paid for, a benchmark whose next version could not be published.

    Raises:
        PublishError: Its answers are sealed, its code may not be redistributed, or the next version
            would be where it is.
    """
    version_folder(benchmark, settings)
    content = benchmark.content
    if content.sealed:
        raise PublishError(
            f"{benchmark.name} has sealed answers, which nobody can change: repair the benchmark "
            "before it is sealed"
        )
    left_out = 0
    if not settings.include_unlicensed:
        left_out = without_unlicensed(content).dropped.get(UNLICENSED, 0)
        left_out -= content.dropped.get(UNLICENSED, 0)
    if left_out:
        raise PublishError(
            f"the licence of {counted(left_out, 'codes')} of {benchmark.name} is unknown or does "
            f"not permit redistribution: put the LICENSE, or the dataset card (README.md), into "
            f"{benchmark.published.folder}, or give --include-unlicensed for private use"
        )


@stage("pool-to-repair", "pool what {benchmark.name} grades as right or may lack")
def pool_to_repair(
    database: Database, benchmark: OpenBenchmark, runs: Sequence[Run], collection: str, depth: int
) -> tuple[SearchReference, ...]:
    """Store the pairs to judge as searches, each with the pairs of the one before it.

    First come the pairs that are graded right, then those that several methods return among their
    first results, then all that one returns.
    """
    pool = _pool(benchmark.content, read_rankings(benchmark, runs), depth)
    stored: dict[PairKey, Unjudged] = {}
    pools = []
    for part in (
        [pair for pair in pool if not pair.methods],
        [pair for pair in pool if len(pair.methods) > 1],
        [pair for pair in pool if len(pair.methods) == 1],
    ):
        for pair in part:
            query, code = pair.stored
            item = Unjudged(query_id=query, code_id=code, rank=pair.rank, methods=pair.methods)
            stored.setdefault(pair.stored, item)
        if part:
            items = [*stored.values()]
            pools.append(record_pool(database, benchmark.benchmark_id, collection, items, depth))
    get_run_logger().info("%s: %s pooled", benchmark.name, counted(len(stored), "pairs"))
    return tuple(pools)


@stage("write-repair", "write the next version of {benchmark.name}")
def write_repair(
    database: Database,
    benchmark: OpenBenchmark,
    runs: Sequence[Run],
    judged: AnnotationRun,
    scoring: ScoringSettings,
    depth: int,
) -> WrittenRepair:
    """Write the next version, the labels that changed, the page, and the maintainers' text."""
    content, rankings = benchmark.content, read_rankings(benchmark, runs)
    pool = _pool(content, rankings, depth)
    said, evidence, recipes = _verdicts(database, judged, scoring.publish)
    changes = _changes(content, pool, said, evidence)
    repaired = _repaired(content, changes, recipes)
    folder = version_folder(benchmark, scoring.publish)
    write_benchmark(repaired, folder)
    before, old = compared_methods(
        benchmark, rankings, qrels_of(content.labels), scoring.evaluation
    )
    after, new = compared_methods(
        benchmark, rankings, qrels_of(repaired.labels), scoring.evaluation
    )
    right = [pair.stored for pair in pool if not pair.methods]
    others = [pair.stored for pair in pool if pair.methods]
    figures = RepairFigures(
        benchmark=benchmark.name,
        version=repaired.name,
        licence="; ".join(sorted({source.licence for source in content.sources})),
        judge=f"{judged.recipe.model} ({judged.committee.annotation.configuration})",
        depth=depth,
        positives=len(right),
        judged=sum(key in said for key in right),
        doubted=sum(key in said and said[key].relevance <= 0 for key in right),
        unjudged=len(others),
        answered=sum(key in said for key in others),
        found=sum(key in said and said[key].relevance > 0 for key in others),
        **({"gold": recipes[0].gold} if recipes else {}),
        before=before,
        after=after,
    )
    scores = score_changes(
        before, after, *({row.method: row.values for row in each} for each in (old, new))
    )
    pages = scoring.publish.folder.resolve() / "repairs"
    pages /= f"{benchmark.name}-{benchmark.benchmark_id}"
    files = {
        CHANGES: "".join(f"{change.model_dump_json()}\n" for change in changes),
        "maintainers.md": markdown_page(maintainers_text(figures, changes)),
        **{f"mteb/{name}": file for name, file in mteb_files(repaired, figures.licence).items()},
    }
    document = repair_document(figures, changes, scores)
    key = artifact_key(PAGE, benchmark.name)
    write_pages(pages, PAGE, document, files, key=key, about=document.title)
    return WrittenRepair(version=folder, folder=pages, figures=figures)


def _pool(content: Benchmark, rankings: Mapping[str, Rankings], depth: int) -> list[PooledPair]:
    """Return the pairs to judge: those that are graded right, then the methods' first ones."""
    ids = content_ids(content)
    graded = qrels_of(label for label in content.labels if label.relevance >= 0)
    right = [
        Unjudged(query_id=label.query_id, code_id=label.code_id, rank=1, methods=())
        for label in sorted(content.labels, key=lambda label: label.key)
        if label.relevance > 0
    ]
    return [
        PooledPair(
            PairKey(QueryId(pair.query_id), CodeId(pair.code_id)),
            PairKey(ids.queries[pair.query_id], ids.codes[pair.code_id]),
            pair.rank,
            pair.methods,
        )
        for pair in (*right, *unjudged_results(rankings, graded, depth))
        if pair.query_id in ids.queries and pair.code_id in ids.codes
    ]


def _verdicts(
    database: Database, judged: AnnotationRun, settings: PublishSettings
) -> tuple[dict[PairKey, Label], AnnotationStream, tuple[LabelRecipe, ...]]:
    """Return the agents' labels of the pool, the annotations under them, and who gave them."""
    search, rounds = judged.search, [recipe.recipe_id for recipe in judged.rounds]
    current = labels_by(database, search.collection, [search.search_id], rounds)
    current = current.model_copy(update={"support": settings.support})
    decided = decide_labels(database, current)
    rows = decided.labels.drop_columns(["fresh"]).to_pylist()
    said = {label.key: label for label in (Label(**row) for row in rows)}
    evidence = StoredAnnotations(database, EvidenceSelection(decided.supporting_annotations))
    return said, evidence, label_recipes(database, current, decided.labels["origin"])


def _changes(
    content: Benchmark,
    pool: Sequence[PooledPair],
    said: Mapping[PairKey, Label],
    evidence: AnnotationStream,
) -> list[LabelChange]:
    """Return the labels that differ from the benchmark's or are new, doubted positives first."""
    grades = {label.key: label.relevance for label in content.labels}
    right = Counter(grade for grade in grades.values() if grade > 0).most_common(1)[0][0]
    queries: dict[str, str] = {each.query_id: each.text for each in content.queries}
    codes: dict[str, str] = {each.code_id: each.text for each in content.codes}
    differing = [
        (pair, said[pair.stored], old)
        for pair, old in ((pair, grades.get(pair.own, -1.0)) for pair in pool)
        if pair.stored in said and (old < 0 or (old > 0) != (said[pair.stored].relevance > 0))
    ]
    rests_on: dict[PairKey, list[Annotation]] = {}
    for one in evidence.of_pairs(pair.stored for pair, _, _ in differing):
        rests_on.setdefault(one.key, []).append(one)
    changes = []
    for pair, label, old in differing:
        under = rests_on.get(pair.stored, [])
        agree = [one for one in under if one.label == label.relevance] or under
        changes.append(
            LabelChange(
                query_id=pair.own.query_id,
                code_id=pair.own.code_id,
                query=queries[pair.own.query_id],
                code=codes[pair.own.code_id],
                methods=pair.methods,
                old=old if old >= 0 else None,
                new=right if label.relevance > 0 else 0.0,
                support=agree[0].support if agree else "undecided",
                origin=label.origin,
                evidence=tuple(under),
            )
        )
    return changes


def _repaired(
    content: Benchmark, changes: Sequence[LabelChange], recipes: Sequence[LabelRecipe]
) -> Benchmark:
    """Return a benchmark with changed labels, each of which has its recipe and its evidence."""
    labels: dict[tuple[str, str], Label] = {label.key: label for label in content.labels}
    for change in changes:
        labels[change.query_id, change.code_id] = Label.model_validate(
            {
                **change.model_dump(include={"query_id", "code_id", "origin"}),
                "relevance": change.new,
                "note": "" if change.old is None else f"was {change.old:g}",
            }
        )
    by_origin = {recipe.origin: recipe for recipe in (*content.recipes, *recipes)}
    return content.model_copy(
        update={
            "name": f"{content.name}{_NEXT}",
            "labels": tuple(labels.values()),
            "undecided": tuple(
                pair for pair in content.undecided if (pair.query_id, pair.code_id) not in labels
            ),
            "recipes": tuple(by_origin.values()),
            "evidence": content.evidence.replaced_by(
                one.model_copy(update={"query_id": change.query_id, "code_id": change.code_id})
                for change in changes
                for one in change.evidence
            ),
        }
    )
