"""What a study's figures are computed from, gathered from the store, an export and files."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, get_args

import pyarrow as pa
import pyarrow.compute as pc

from agents.committee.configurations import OF_QUERIES
from agents.evidence import was_executed
from infra.draws import Draw
from infra.records import ExecutionResult, Outcome, Record
from infra.settings import EvaluationSettings, SearchSettings, Settings
from infra.store import Database, benchmarks, corpus, figures, recipes
from infra.store.benchmarks import Published
from infra.store.evidence import decide_labels
from infra.store.figures import recipes_behind
from infra.store.labels import CurrentLabels
from infra.store.people import people_figures
from infra.store.recipes import model_of
from infra.summaries import PairEffort, PeopleFigures, ProgramCounts, RankCounts
from tasks.benchmarks import read_manifest
from tasks.encoders import encoders
from tasks.ranking.methods import chosen_methods
from tasks.runtime.references import CollectedSource
from tasks.sources.cosqa import PAIR_LABELS
from tasks.stages.labels import (
    agreement_of_rounds,
    labels_of_agents,
)
from tasks.stages.scoring import method_key
from tasks.stages.study.overlap import Overlaps
from tasks.studies import (
    CollectionFacts,
    Evidence,
    Mean,
    Missing,
)
from tasks.studies._files import benchmark_facts, matches_of, read_annotators
from tasks.studies.benchmark import METRICS as OF_METHODS
from tasks.studies.matches_and_scores import METRICS as BY_MATCHES

_EXECUTED = [
    outcome for outcome in get_args(Outcome) if was_executed(ExecutionResult(outcome=outcome))
]
_NO_BENCHMARK = Missing(
    reason="no benchmark of this source is published: run `cosqa publish` first"
)
_UNLABELLED = Missing(
    reason="the agents have labelled none of the candidates: run `cosqa annotate`"
)
_NO_PROGRAMS = Missing(reason="no test program was run: no pair was unclear, or none runs them")
_NO_SCORES = Missing(reason="no query of the benchmark has a relevant code, so nothing is scored")


class StudyFiles(Record):
    """Files that figures are computed from, beside the store.

    Attributes:
        annotators: What ``cosqa compare-annotators --output`` has written.
        annotation_store: CodeSearchNet's annotationStore.csv.
        score_sheet: Neural Code Search's score_sheet.csv.
    """

    annotators: tuple[Path, ...] = ()
    annotation_store: Path | None = None
    score_sheet: Path | None = None


def gather_evidence(
    database: Database,
    source: CollectedSource,
    published: Published | None,
    overlaps: Overlaps,
    files: StudyFiles,
    settings: Settings,
) -> Evidence:
    """Return the evidence; a part that cannot be had says what makes it.

    Args:
        database: The store.
        source: The collections, and the search over the first.
        published: The benchmark under study, if one is published.
        overlaps: Those of the encoders.
        files: Further files.
        settings: The methods, and the queries drawn for the matches by rank.

    Raises:
        SourceError: A file of compared annotators is malformed.
    """
    labels = labels_of_agents(database, source)
    current = labels.current if labels else None
    _, dropped = corpus.load_source(database, source.main.name)
    agents = _of_agents(database, source, current, settings.annotation.draw)
    methods = _of_methods(database, published, settings.search, settings.evaluation)
    return Evidence(
        conditions=_conditions(
            database, source, published, current, settings.search, settings.evaluation.depth
        ),
        collection=CollectionFacts(
            queries=source.main.queries,
            codes=source.main.codes,
            dropped=dropped,
            documented=corpus.documented_by_language(database, source.main.name),
        ),
        overlaps=Missing(reason=overlaps.problem)
        if overlaps.problem
        else {
            name: Mean(value=value, n=overlaps.queries)
            for name, value in overlaps.by_encoder.items()
        },
        ranks=agents.ranks,
        mismatches=_mismatches(database, source, current),
        benchmark=benchmark_facts(Path(published.folder)) if published else _NO_BENCHMARK,
        programs=agents.programs,
        efforts=agents.efforts,
        scores=methods.scores,
        group_scores=methods.by_matches,
        rounds=_of_rounds(database, current),
        annotators=read_annotators(files.annotators)
        if files.annotators
        else Missing(reason="no file of compared annotators is given"),
        people=_of_people(database),
        annotation_store=files.annotation_store or Missing(reason="the file is not given"),
        score_sheet=files.score_sheet or Missing(reason="the file is not given"),
    )


def _of_rounds(database: Database, current: CurrentLabels | None) -> list[float | None] | Missing:
    """Return the alpha of each two consecutive rounds of labelling."""
    if current is None or len(current.sets[0]) < 2:
        return Missing(reason="the pairs of this store were labelled in one round")
    agreement = agreement_of_rounds(database, current)
    return [two.alpha for two in agreement.each_two if two.second == two.first + 1]


def _of_people(database: Database) -> PeopleFigures | Missing:
    found = people_figures(database)
    if not (found.preferences or found.timed_with_program or found.timed_without_program):
        return Missing(
            reason="nobody has labelled a sample of this store with preferences or minutes"
        )
    return found


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
) -> dict[str, Mean] | Missing:
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
    } or Missing(reason="no pair of CoSQA's cosqa-*.json is in the store")


class _Agents(NamedTuple):
    ranks: list[RankCounts] | Missing
    programs: ProgramCounts | Missing
    efforts: dict[str, PairEffort] | Missing


def _of_agents(
    database: Database, source: CollectedSource, current: CurrentLabels | None, draw: Draw
) -> _Agents:
    if current is None:
        return _Agents(_UNLABELLED, _UNLABELLED, _UNLABELLED)
    ranks = figures.count_by_rank(database, source.search.search_id, current, draw)
    programs = figures.count_programs(database, current, _EXECUTED)
    return _Agents(
        ranks=ranks,
        programs=programs if programs.programs else _NO_PROGRAMS,
        efforts=_efforts(figures.efforts(database, current, OF_QUERIES)),
    )


def _efforts(rows: Sequence[PairEffort]) -> dict[str, PairEffort]:
    """Return clear, unclear and all pairs, each with 0 pairs where there are none.

    Pairs by claims are between them if there are any.
    """
    known = [row.dollars for row in rows if row.dollars is not None]
    everything = PairEffort(
        kind="all",
        pairs=sum(row.pairs for row in rows),
        seconds=sum(row.seconds for row in rows),
        dollars=sum(known) if len(known) == len(rows) else None,
    )
    by_kind = {row.kind: row for row in rows} | {"all": everything}
    for kind in ("clear", "unclear"):
        by_kind.setdefault(kind, PairEffort(kind=kind, pairs=0, seconds=0, dollars=None))
    shown = ("clear", "unclear", "by claims", "all")
    return {kind: by_kind[kind] for kind in shown if kind in by_kind}


class _Methods(NamedTuple):
    scores: dict[str, dict[str, Mean]] | Missing
    by_matches: dict[str, dict[str, dict[int, Mean]]] | Missing


def _of_methods(
    database: Database,
    published: Published | None,
    search: SearchSettings,
    evaluation: EvaluationSettings,
) -> _Methods:
    if published is None:
        return _Methods(_NO_BENCHMARK, _NO_BENCHMARK)
    benchmark, matches = published.benchmark_id, matches_of(Path(published.folder))
    methods = chosen_methods(evaluation, search)
    keys = [method_key(method, evaluation.depth) for method in methods]
    means = benchmarks.mean_scores(database, benchmark, keys, OF_METHODS)
    if not means:
        return _Methods(_NO_SCORES, _NO_SCORES)
    scored = sum(number > 0 for number in matches.values())
    scores = {
        method: {metric: Mean(value=value, n=scored) for metric, value in row.items()}
        for method, row in means.items()
    }
    grouped: dict[str, dict[str, dict[int, Mean]]] = {}
    for row in figures.group_means(database, benchmark, keys, BY_MATCHES, matches):
        by_matches = grouped.setdefault(row.method, {}).setdefault(row.metric, {})
        by_matches[row.matches] = Mean(value=row.value, n=row.queries)
    return _Methods(scores, grouped)
