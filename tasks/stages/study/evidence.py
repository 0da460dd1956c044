"""The evidence of a study's figures, gathered from the store, an export and files."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, get_args

import pyarrow as pa
import pyarrow.compute as pc

from agents.committee.configurations import OF_QUERIES
from agents.evidence import was_executed
from infra.records import ExecutionResult, Outcome, Record
from infra.settings import ScoringSettings, SearchSettings
from infra.store import Database, benchmarks, corpus, figures, recipes
from infra.store.benchmarks import Published
from infra.store.figures import recipes_behind
from infra.store.labels import CurrentLabels, decide_labels
from infra.store.recipes import model_of
from infra.store.samples import people_figures
from infra.subsets import Draw
from infra.summaries import PairCost
from tasks.benchmarks import read_manifest
from tasks.encoders import encoders
from tasks.ranking.methods import chosen_methods
from tasks.runtime.references import CollectedSource
from tasks.sources.cosqa import PAIR_LABELS
from tasks.stages.labels import labels_of_agents
from tasks.stages.scoring import method_key
from tasks.stages.study.files import benchmark_facts, matches_of, read_annotators
from tasks.stages.study.overlap import Overlaps
from tasks.statistics.agreement import alphas_of_rounds
from tasks.studies import (
    CollectionFacts,
    Evidence,
    Mean,
    Missing,
)
from tasks.studies.benchmark import BY_MATCHES
from tasks.studies.benchmark import METRICS as OF_METHODS

_NO_PROGRAMS = Missing(reason="no test program was run: no pair was unclear, or none runs them")
_NO_SCORES = Missing(reason="no query of the benchmark has a match, so nothing is scored")
_EXECUTED = [
    outcome for outcome in get_args(Outcome) if was_executed(ExecutionResult(outcome=outcome))
]


class StudyFiles(Record):
    """Further files that figures are computed from.

    Attributes:
        annotators: Files of ``cosqa compare-annotators --output``.
        annotation_store: CodeSearchNet's annotationStore.csv.
        score_sheet: Neural Code Search's score_sheet.csv.
    """

    annotators: tuple[Path, ...] = ()
    annotation_store: Path | None = None
    score_sheet: Path | None = None


class Studied(NamedTuple):
    """The collections under study, their published benchmark, and how far encoders overlap."""

    source: CollectedSource
    published: Published | None
    overlaps: Overlaps


def gather_evidence(
    database: Database, studied: Studied, files: StudyFiles, settings: ScoringSettings, draw: Draw
) -> Evidence:
    """Return the evidence; a part that is missing names the command that makes it."""
    source, published, overlaps = studied.source, studied.published, studied.overlaps
    labels = labels_of_agents(database, source)
    current = labels.current if labels else None
    _, dropped = corpus.load_source(database, source.main.name)
    evidence = Evidence(
        conditions=_conditions(
            database, source, published, current, settings.search, settings.evaluation.depth
        ),
        collection=CollectionFacts(
            queries=source.main.queries,
            codes=source.main.codes,
            dropped=dropped,
            documented=corpus.documented_by_language(database, source.main.name),
        ),
    )
    if overlaps.problem:
        evidence.overlaps = Missing(reason=overlaps.problem)
    else:
        evidence.overlaps = {
            name: Mean(value=value, n=overlaps.queries)
            for name, value in overlaps.by_encoder.items()
        }
    if mismatches := _mismatches(database, source, current):
        evidence.mismatches = mismatches
    if current:
        _add_agents(evidence, database, source, current, draw)
    if published:
        _add_benchmark(evidence, database, published, settings)
    people = people_figures(database)
    if people.preferences or people.timed_with_program or people.timed_without_program:
        evidence.people = people
    _add_files(evidence, files)
    return evidence


def _add_files(evidence: Evidence, files: StudyFiles) -> None:
    if files.annotators:
        evidence.annotators = read_annotators(files.annotators)
    if files.annotation_store:
        evidence.annotation_store = files.annotation_store
    if files.score_sheet:
        evidence.score_sheet = files.score_sheet


def _conditions(
    database: Database,
    source: CollectedSource,
    published: Published | None,
    labels: CurrentLabels | None,
    search: SearchSettings,
    depth: int,
) -> dict[str, str]:
    """Return the conditions of the figures, by the names that ``published.toml`` has.

    Of several recipes whose labels stand side by side, all models and configurations are named.
    """
    info, _ = corpus.load_source(database, source.main.name)
    behind = recipes_behind(database, labels) if labels else []
    bodies = [recipes.load_recipe(database, recipe_id) for recipe_id in behind]
    conditions = {
        "source": info.name,
        "queries": f"{source.main.queries:,}",
        "codes": f"{source.main.codes:,}",
        "encoders": ", ".join(encoders.get(name).spec.name for name in search.encoders),
        "top k": str(search.top_k),
        "model": _named(model_of(body) for body in bodies),
        "configuration": _named(str(body.get("configuration", "")) for body in bodies),
    }
    if published is None:
        return conditions | {"benchmark": "none", "code base": "none"}
    manifest = read_manifest(Path(published.folder))
    return conditions | {
        "benchmark": published.name,
        "code base": f"{manifest.code_base}, {manifest.counts['codes']:,}",
        "rankings": f"{depth:,}",
    }


def _named(values: Iterable[str]) -> str:
    return ", ".join(sorted(set(values))) or "none"


def _mismatches(
    database: Database, source: CollectedSource, current: CurrentLabels | None
) -> dict[str, Mean]:
    """Return the share of CoSQA's own pairs that do not match, by all who have labelled any."""
    names = [collection.name for collection in source.collections]
    own = pa.concat_tables(corpus.label_columns(database, name, PAIR_LABELS) for name in names)
    labels, keys = {"CoSQA's annotators": own}, ["query_id", "code_id"]
    if current:
        found = decide_labels(database, current).labels
        labels["agents"] = found.join(own.select(keys), keys, join_type="left semi")
    return {
        who: Mean(value=pc.mean(pc.equal(table["relevance"], 0)).as_py(), n=len(table))
        for who, table in labels.items()
        if len(table)
    }


def _add_agents(
    evidence: Evidence,
    database: Database,
    source: CollectedSource,
    current: CurrentLabels,
    draw: Draw,
) -> None:
    """Add the agents' labels by rank, programs, costs and rounds to the evidence."""
    evidence.ranks = figures.count_by_rank(database, source.search.search_id, current, draw)
    programs = figures.count_programs(database, current, _EXECUTED)
    evidence.programs = programs if programs.programs else _NO_PROGRAMS
    evidence.costs = _costs(figures.pair_costs(database, current, OF_QUERIES))
    if len(current.sets[0]) > 1:
        votes = figures.votes_of_rounds(database, current)
        evidence.rounds = alphas_of_rounds(votes, len(current.sets[0]))


def _costs(rows: Sequence[PairCost]) -> dict[str, PairCost]:
    """Return clear, unclear and all pairs, each with 0 pairs where there are none.

    Pairs by claims are between them if there are any.
    """
    known = [row.dollars for row in rows if row.dollars is not None]
    everything = PairCost(
        kind="all",
        pairs=sum(row.pairs for row in rows),
        seconds=sum(row.seconds for row in rows),
        dollars=sum(known) if len(known) == len(rows) else None,
    )
    by_kind = {row.kind: row for row in rows} | {"all": everything}
    for kind in ("clear", "unclear"):
        by_kind.setdefault(kind, PairCost(kind=kind, pairs=0, seconds=0, dollars=None))
    shown = ("clear", "unclear", "by claims", "all")
    return {kind: by_kind[kind] for kind in shown if kind in by_kind}


def _add_benchmark(
    evidence: Evidence, database: Database, published: Published, settings: ScoringSettings
) -> None:
    """Add the counts over a published benchmark and the scores of methods to the evidence."""
    folder = Path(published.folder)
    evidence.benchmark = benchmark_facts(folder)
    benchmark, matches = published.benchmark_id, matches_of(folder)
    keys = [method_key(method, settings.evaluation.depth) for method in chosen_methods(settings)]
    means = benchmarks.mean_scores(database, benchmark, keys, OF_METHODS)
    if not means:
        evidence.scores = evidence.group_scores = _NO_SCORES
        return
    scored = sum(number > 0 for number in matches.values())
    evidence.scores = {
        method: {metric: Mean(value=value, n=scored) for metric, value in row.items()}
        for method, row in means.items()
    }
    grouped: dict[str, dict[str, dict[int, Mean]]] = {}
    for row in benchmarks.group_means(database, benchmark, keys, BY_MATCHES, matches):
        by_matches = grouped.setdefault(row.method, {}).setdefault(row.metric, {})
        by_matches[row.matches] = Mean(value=row.value, n=row.queries)
    evidence.group_scores = grouped
