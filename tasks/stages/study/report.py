"""The study of the tables and figures of papers: its evidence, and the task that writes it.

Evidence is gathered from the store, an export and files; the study is a page, Markdown, and all
figures as JSON.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple, get_args

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from agents.committee.configurations import OF_QUERIES
from agents.evidence import was_executed
from infra.errors import SourceError
from infra.records import ExecutionResult, Outcome, Record
from infra.settings import EvaluationSettings, PublishSettings, ScoringSettings
from infra.store import Database, annotations, benchmarks, corpus, figures
from infra.store.annotations import model_of
from infra.store.benchmarks import Published
from infra.store.figures import recipes_behind
from infra.store.labels import CurrentLabels, decide_labels
from infra.store.samples import people_figures
from infra.subsets import Draw
from infra.summaries import PairCost
from tasks.benchmarks import read_manifest, verify_export
from tasks.encoders import encoders
from tasks.inputs.formats.export import read_exported
from tasks.inputs.lines import decode_json
from tasks.inputs.text import printable, read_text
from tasks.ranking.methods import chosen_methods
from tasks.reports.study import StudyReport, build_report, study_document
from tasks.runtime.caching import stage
from tasks.runtime.progress import artifact_key, get_run_logger, time_of_writing, write_pages
from tasks.runtime.references import CollectedSource
from tasks.sources.cosqa import PAIR_LABELS
from tasks.stages.candidates import Overlaps
from tasks.stages.labels import labels_of_agents
from tasks.stages.publish import published_benchmarks, sets_to_score
from tasks.stages.scoring import method_key
from tasks.statistics.agreement import alphas_of_rounds
from tasks.studies import Annotator, BenchmarkFacts, CollectionFacts, Evidence, Mean, Missing
from tasks.studies.benchmark import BY_MATCHES
from tasks.studies.benchmark import METRICS as OF_METHODS

_NO_PROGRAMS = Missing(reason="no test program was run: no pair was unclear, or none runs them")
_NO_SCORES = Missing(reason="no query of the benchmark has a match, so nothing is scored")
_EXECUTED = [
    outcome for outcome in get_args(Outcome) if was_executed(ExecutionResult(outcome=outcome))
]

PAGE, REPORT = "study.html", "study.json"


def matches_of(folder: Path) -> dict[str, int]:
    """Return query → number of its relevant codes, for all queries of an export.

    Raises:
        PublishError: A table of the export is missing or changed.
    """
    labels = read_exported(folder, "labels", ["query_id", "relevance"])
    queries = read_exported(folder, "queries", ["query_id"])["query_id"]
    relevant = labels.filter(pc.greater(labels["relevance"], 0))
    counted = relevant.group_by("query_id").aggregate([("relevance", "count")])
    numbers = dict(
        zip(counted["query_id"].to_pylist(), counted["relevance_count"].to_pylist(), strict=True)
    )
    return {query: numbers.get(query, 0) for query in queries.to_pylist()}


def benchmark_facts(folder: Path) -> BenchmarkFacts:
    """Return the counts over an export's labels; texts of codes are read as columns only.

    Raises:
        PublishError: A table of the export is missing or changed.
    """
    labels = read_exported(folder, "labels", ["query_id", "code_id", "relevance"])
    codes = read_exported(folder, "codes", ["code_id", "text"])
    labelled = codes.filter(pc.is_in(codes["code_id"], value_set=pc.unique(labels["code_id"])))
    relevant = labels.filter(pc.greater(labels["relevance"], 0))
    answered = relevant.group_by("code_id").aggregate([("query_id", "count")])
    return BenchmarkFacts(
        pairs=labels.num_rows,
        codes=labelled.num_rows,
        mean_characters=pc.mean(pc.utf8_length(labelled["text"])).as_py() or 0.0,
        matches_of_queries=_histogram(pa.array(list(matches_of(folder).values()), pa.int64())),
        queries_of_codes=_histogram(answered["query_id_count"]),
    )


def _histogram(values: pa.Array | pa.ChunkedArray) -> dict[int, int]:
    """Return value → how often it occurs, by rising value."""
    counted = pc.value_counts(values).to_pylist()
    return dict(sorted((row["values"], row["counts"]) for row in counted))


class _Score(BaseModel):
    """An entry of the file; other fields are passed over."""

    model_config = ConfigDict(extra="ignore")

    name: str
    model: str = ""
    pairs: int
    accuracy: float | None
    alpha_with_people: float | None = None


def read_annotators(files: Iterable[Path]) -> list[Annotator]:
    """Return the annotators of files that ``cosqa compare-annotators --output`` has written.

    Raises:
        SourceError: A file is missing or is none that the command writes.
    """
    annotators: list[Annotator] = []
    for file in files:
        content = decode_json(read_text(file), printable(file))
        try:
            scores = TypeAdapter(list[_Score]).validate_python(content)
        except ValidationError as error:
            problem = error.errors()[0]
            place = ".".join(map(str, problem["loc"])) or "the whole"
            raise SourceError(
                f"{file}: {place}: {problem['msg']}; give a file that `cosqa compare-annotators "
                "--output FILE` has written"
            ) from None
        annotators += [
            Annotator(
                configuration=score.name,
                model=score.model,
                accuracy=score.accuracy,
                pairs=score.pairs,
                alpha_with_people=score.alpha_with_people,
                file=printable(file),
            )
            for score in scores
        ]
    return annotators


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
        conditions=_conditions(database, studied, current, settings),
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
    if files.annotators:
        evidence.annotators = read_annotators(files.annotators)
    if files.annotation_store:
        evidence.annotation_store = files.annotation_store
    if files.score_sheet:
        evidence.score_sheet = files.score_sheet
    return evidence


def _conditions(
    database: Database, studied: Studied, labels: CurrentLabels | None, settings: ScoringSettings
) -> dict[str, str]:
    """Return the conditions of the figures, by the names that ``published.toml`` has.

    Of several recipes whose labels stand side by side, all models and configurations are named.
    """
    source, published, search = studied.source, studied.published, settings.search
    info, _ = corpus.load_source(database, source.main.name)
    behind = recipes_behind(database, labels) if labels else []
    bodies = [annotations.load_recipe(database, recipe_id) for recipe_id in behind]
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
        "rankings": f"{settings.evaluation.depth:,}",
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
    # Costs of clear, unclear and all pairs, each with 0 pairs where there are none; those by claims
    # are between them if there are any.
    rows = figures.pair_costs(database, current, OF_QUERIES)
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
    evidence.costs = {kind: by_kind[kind] for kind in shown if kind in by_kind}
    if len(current.sets[0]) > 1:
        votes = figures.votes_of_rounds(database, current)
        evidence.rounds = alphas_of_rounds(votes, len(current.sets[0]))


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


def studied_benchmark(
    database: Database, source: CollectedSource, settings: PublishSettings
) -> Published | None:
    """Return the published benchmark under study: the agents', else the source's own first one."""
    labels = sets_to_score(database, source, settings)
    own = [item for item in labels if item.collection == source.main]
    ordered = sorted(own, key=lambda item: item.current is None) or labels
    published = published_benchmarks(ordered, settings)
    if not published:
        return None
    verify_export(Path(published[0].folder))
    return published[0]


def with_study_metrics(evaluation: EvaluationSettings) -> EvaluationSettings:
    """Return the settings with the metrics that studies need, too."""
    names = dict.fromkeys([*evaluation.metrics, *OF_METHODS, *BY_MATCHES])
    return evaluation.model_copy(update={"metrics": tuple(names)})


@stage("study", "report the study of {studied.source.main.name}")
def write_study(
    database: Database, studied: Studied, files: StudyFiles, settings: ScoringSettings, draw: Draw
) -> Path:
    """Compute the figures, and write them with the published ones; return their folder.

    It has the page, the Markdown, and all figures as JSON.
    """
    evidence = gather_evidence(database, studied, files, settings, draw)
    source = studied.source
    title = f"{source.main.name}: the papers' tables and figures"
    report = build_report(evidence, title, time_of_writing())
    folder = settings.publish.folder.resolve() / "studies" / source.main.name
    written = {REPORT: report.model_dump_json(indent=1)}
    key = artifact_key("study", source.main.name)
    write_pages(folder, "study", study_document(report), written, key=key, about=title)
    get_run_logger().info("study: %s", folder / PAGE)
    return folder


def read_report(folder: Path) -> StudyReport:
    """Return the report that `write_study` wrote into a folder."""
    return StudyReport.model_validate_json((folder / REPORT).read_text("utf-8"))
