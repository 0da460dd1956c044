"""The report of estimates: page, tables, figures as JSON, and the queries to label next."""

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from prefect.artifacts import create_markdown_artifact, create_table_artifact
from prefect.logging import get_run_logger

from infra.disk import OTHER_OUTPUT, space_on
from infra.identity import digest
from infra.markdown import markdown_text
from infra.records import Record
from infra.settings import EstimationSettings, Settings
from infra.store import Database, recipes
from tasks.benchmarks.benchmark import fit_name
from tasks.benchmarks.folder import atomic_folder
from tasks.estimation.comparison import compare_methods
from tasks.estimation.records import MethodComparison, MethodEstimate
from tasks.reports.estimation import (
    EstimationReport,
    LabelPrice,
    estimate_table,
    estimation_document,
)
from tasks.reports.render import html_page, markdown_page
from tasks.reports.text import visible
from tasks.runtime.caching import stage
from tasks.stages.estimate.inputs import EstimationInput
from tasks.stages.estimate.judged import JudgedQueries
from tasks.stages.estimate.scores import load_estimate
from tasks.stages.scoring import OpenBenchmark

PAGE, TABLES, FIGURES = "estimate.html", "estimate.md", "estimate.json"
TO_LABEL, SAMPLE = "to_label.jsonl", "sample.jsonl"
_FILES = (PAGE, TABLES, FIGURES, TO_LABEL, SAMPLE)
_LONGEST = 400


class WrittenEstimate(Record):
    """A written report.

    Attributes:
        folder: Its folder.
        to_label: Number of queries that are to be labelled next, for the planned half-width.
        refused: Method → why it has no estimate: its queries lie too far from the training
            queries, and too few are judged.
    """

    folder: Path
    to_label: int
    refused: dict[str, str]


@stage("write-estimate", "report on the estimates for {inputs.name}")
def write_estimate(
    database: Database,
    inputs: EstimationInput,
    identities: Sequence[str],
    settings: Settings,
    benchmark: OpenBenchmark | None = None,
) -> WrittenEstimate:
    """Write page, Markdown, JSON and the queries to label; the folder is replaced as a whole.

    Args:
        database: The store.
        inputs: Queries and training pairs.
        identities: The methods' stored estimates.
        settings: Planned half-width, seed, candidates of each query, and the output folder.
        benchmark: The benchmark of the judged queries.

    Raises:
        DiskFullError: The disk is full; an older report is as it was.
        PublishError: The folder has other files.
    """
    judged = JudgedQueries(benchmark, inputs.queries) if benchmark else None
    estimates = [load_estimate(database, identity) for identity in identities]
    report = _report(estimates, inputs, judged, _price(database, settings))
    document = estimation_document(report)
    text = markdown_page(document)
    sample, next_ones = _to_label(estimates, inputs, judged, settings.estimation)
    folder = estimate_folder(inputs, identities, settings)
    with space_on(folder, OTHER_OUTPUT), atomic_folder(folder, lambda _: _FILES) as partial:
        (partial / PAGE).write_text(html_page(document), encoding="utf-8")
        (partial / TABLES).write_text(text, encoding="utf-8")
        (partial / FIGURES).write_text(report.model_dump_json(indent=1) + "\n", encoding="utf-8")
        if next_ones:
            _write_queries(partial / TO_LABEL, next_ones)
        if next_ones and sample:
            _write_queries(partial / SAMPLE, [*sample, *next_ones])
    _add_artifacts(report, text)
    get_run_logger().info("estimate: %s", folder / PAGE)
    refused = {each.method: each.distance.reason for each in estimates if is_refused(each)}
    for method, reason in refused.items():
        get_run_logger().warning("%s: %s", method, reason)
    return WrittenEstimate(folder=folder, to_label=len(next_ones), refused=refused)


def is_refused(estimate: MethodEstimate) -> bool:
    """Return whether nothing is estimated: no score without labels, and none with."""
    return all(score.kape is None and score.combined is None for score in estimate.scores.values())


def estimate_folder(inputs: EstimationInput, identities: Sequence[str], settings: Settings) -> Path:
    """Return the folder of a report; other texts, methods, labels or options have another.

    So no command shows what another one, which runs at the same time, has written.
    """
    name = fit_name(inputs.name, "queries")[:80]
    folder = f"{name}-{digest(*identities)[:8]}"
    return settings.publish.folder.resolve() / "estimates" / folder


def read_report(folder: Path) -> EstimationReport:
    """Return a written report."""
    text = (folder / FIGURES).read_text(encoding="utf-8")
    return EstimationReport.model_validate_json(text)


def _report(
    estimates: Sequence[MethodEstimate],
    inputs: EstimationInput,
    judged: JudgedQueries | None,
    price: LabelPrice,
) -> EstimationReport:
    notes = [*inputs.notes(judged=judged is not None), *(judged.notes if judged else ())]
    if price.dollars_per_pair is None:
        notes.append(
            "What a pair costs is unknown, since none of a known cost is judged in this store: "
            "estimation.dollars_per_pair sets it."
        )
    return EstimationReport(
        title=inputs.queries.name,
        training=inputs.training.name,
        generated_at=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        estimates=tuple(estimates),
        comparison=_comparison(estimates, judged),
        price=price,
        notes=tuple(notes),
    )


def _comparison(
    estimates: Sequence[MethodEstimate], judged: JudgedQueries | None
) -> MethodComparison | None:
    if len(estimates) < 2:
        return None
    truth = {}
    for each in estimates if judged and judged.is_all else ():
        values = next(iter(each.judged.true.values()), ()) if each.judged else ()
        truth[each.method] = sum(values) / len(values)
    return compare_methods(estimates, truth)


def _price(database: Database, settings: Settings) -> LabelPrice:
    """Return the price of a pair by the settings, else by what the store's pairs have cost."""
    dollars = settings.estimation.dollars_per_pair
    return LabelPrice(
        pairs_per_query=settings.search.top_k,
        dollars_per_pair=recipes.mean_cost(database) if dollars is None else dollars,
    )


def _to_label(
    estimates: Sequence[MethodEstimate],
    inputs: EstimationInput,
    judged: JudgedQueries | None,
    settings: EstimationSettings,
) -> tuple[list[str], list[str]]:
    """Return the judged queries, and those to judge next: as many as the longest plan asks for."""
    known = set(judged.rows.values()) if judged else set()
    texts = inputs.queries.texts
    others = [text for row, text in enumerate(texts) if row not in known]
    # In an order that the seed decides, and that other texts which join them leave alone.
    others.sort(key=lambda text: digest("order of labelling", str(settings.seed), text))
    wanted = max(each.plan.rows[0].more_combined if each.plan else 0 for each in estimates)
    return [texts[row] for row in sorted(known)], others[:wanted]


def _write_queries(file: Path, texts: Iterable[str]) -> None:
    lines = (json.dumps({"query": text}, ensure_ascii=False) for text in texts)
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _add_artifacts(report: EstimationReport, text: str) -> None:
    table = estimate_table(report)
    title = markdown_text(visible(report.title, _LONGEST))
    create_table_artifact(
        [dict(zip(table.header, row, strict=True)) for row in table.rows],
        key="estimate",
        description=title,
    )
    create_markdown_artifact(text, key="estimate-report", description=title)
