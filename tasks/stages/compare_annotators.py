"""Scores of annotators against known labels: agents by configuration and model, and humans.

The figures of CoSQA+'s Tables IV and VI, and of Tables 3 and 4 of its first version. Pairs that
this store has annotations of are not judged again.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from agents import JournalLedger, journal_ledger, recipe_of
from agents.evidence import was_executed
from infra.errors import SettingsError
from infra.identity import RecipeId
from infra.records import Annotation, Pair, Record
from infra.registry import unknown_name
from infra.settings import (
    COMPARED_CONFIGURATIONS,
    CONFIGURATION_SUMMARIES,
    CommitteeSettings,
    Configuration,
    StoreSettings,
)
from infra.store import annotations, open_database
from infra.subsets import Draw, batched
from tasks.inputs.pairs import TruePair, read_truth
from tasks.reports.document import Block, Document, KeyValues, Table
from tasks.runtime.caching import MODEL_AWAY, stage
from tasks.runtime.progress import Progress, artifact_key, get_run_logger, progress
from tasks.runtime.references import RecipeReference
from tasks.stages.annotate.monitor import UnlabelledPairs, store_annotations
from tasks.stages.annotate.shard import Judged, judge_pairs
from tasks.statistics.agreement import krippendorff_alpha
from tasks.statistics.intervals import Interval, wilson_interval

_COLUMNS = {
    "decided": "pairs with a label, of those judged; pairs whose model or container failed are "
    "left out",
    "accuracy": "share of these pairs with the right label, undecided ones count as wrong; Wilson "
    "interval",
    "alpha with people": "Krippendorff's, of all people and the annotator as coders; average "
    "human: of people alone",
    "executable": "share of the test programs whose last version ran to its end",
    "USD, seconds": "mean for a pair, as if no reply had come from the store",
}
_STORED_TOGETHER = 256
_REFRESH_S = 2.0


class AnnotatorScore(Record):
    """An annotator's score against known labels; None is undefined or unknown.

    Attributes:
        name: Configuration of the agents, or name of the human annotators.
        model: The model; empty for human annotators.
        pairs: Number of pairs that the annotator judged, without failed ones.
        decided: Number of pairs that got a label.
        accuracy: Share of right labels in all pairs; an undecided pair is not right.
        interval: The accuracy's 95% interval (Wilson 1927).
        alpha_with_people: Krippendorff's alpha, nominal, of the people and this annotator together;
            of the average human, of the people alone. None without two coders.
        failed: Number of pairs for which the model or the sandbox was unavailable.
        unlabelled: Why pairs got no label, a line for each path.
        executable: Share of the pairs with a test program whose last program ran to its end.
        usd: Mean cost of a pair, as if no reply had been cached.
        seconds: Mean time of a pair in models and the sandbox.
    """

    name: str
    model: str = ""
    pairs: int
    decided: int
    accuracy: float | None
    interval: Interval | None = None
    alpha_with_people: float | None = None
    failed: int = 0
    unlabelled: tuple[str, ...] = ()
    executable: float | None = None
    usd: float | None = None
    seconds: float | None = None


class JudgedTruth(Record):
    """Reference to the annotations of the truth by one configuration and model."""

    configuration: Configuration
    model: str
    recipe_id: RecipeId


def committees_of(
    chosen: CommitteeSettings, models: Iterable[str], configurations: Sequence[Configuration]
) -> Iterator[CommitteeSettings]:
    """Yield a committee for each model and configuration; without any, for the paper's."""
    for name in configurations:
        if name not in CONFIGURATION_SUMMARIES:
            raise SettingsError(unknown_name("configuration", name, list(CONFIGURATION_SUMMARIES)))
    wanted = configurations or COMPARED_CONFIGURATIONS
    for model in models:
        llm = chosen.llm.model_copy(update={"model": model})
        for configuration in CONFIGURATION_SUMMARIES:
            if configuration not in wanted:
                continue
            annotation = chosen.annotation.model_copy(update={"configuration": configuration})
            yield replace(chosen, llm=llm, annotation=annotation)


@stage(
    "judge-truth",
    "judge {truth.name} by {recipe.model} as {committee.annotation.configuration}",
    retries=MODEL_AWAY,
)
def judge_truth(
    truth: Path,
    limit: int | None,
    recipe: RecipeReference,
    committee: CommitteeSettings,
    store: StoreSettings,
) -> JudgedTruth:
    """Judge the pairs of a file that the store has no annotation of; store people's votes on them.

    The pairs are drawn at random by ``annotation.seed``; without a limit all are judged.
    """
    known = read_truth(truth, Draw(limit, committee.annotation.seed))
    pairs = [item.pair for item in known]
    origin = f"people:{truth.name}"
    votes = [vote for item in known for vote in item.votes(origin)]
    annotations.record_pairs(open_database(store), pairs, votes)
    configuration = committee.annotation.configuration
    key = artifact_key("annotators", truth.stem)
    title = f"pairs judged by {recipe.model} as {configuration}"
    with progress(key, title, len(pairs)) as bar:
        judged = annotate_in_process(pairs, recipe, committee, store, bar)
    get_run_logger().info(
        "%s by %s: %s of %s pairs judged now",
        configuration, recipe.model, f"{judged:,}", f"{len(pairs):,}",
    )  # fmt: skip
    return JudgedTruth(configuration=configuration, model=recipe.model, recipe_id=recipe.recipe_id)


def annotate_in_process(
    pairs: Sequence[Pair],
    recipe: RecipeReference,
    committee: CommitteeSettings,
    store: StoreSettings,
    bar: Progress | None = None,
) -> int:
    """Judge stored pairs that a recipe has not finished, in this process; return their number.

    A bar shows how many are finished, and what the others wait for.
    """
    bar = bar or Progress("pairs judged", None)
    database = open_database(store)
    body = recipe_of(committee, recipe.sandbox)
    annotations.record_recipes(database, {recipe.recipe_id: body})
    done = annotations.finished_pairs(database, recipe.recipe_id)
    pending = [pair for pair in pairs if pair.key not in done]
    bar.done = len(pairs) - len(pending)
    slots = asyncio.Semaphore(committee.annotation.in_flight)
    ledger = journal_ledger(store, committee.llm)  # which learns the server's pace
    with asyncio.Runner() as runner:
        for some in batched(pending, _STORED_TOGETHER):
            judging = partial(judge_pairs, some, committee, recipe, ledger, slots)
            judged = runner.run(_judge_and_tell(judging, ledger, bar))
            store_annotations(database, judged.annotations)
            if judged.error:
                raise judged.error
    return len(pending)


async def _judge_and_tell(
    judging: Callable[..., Awaitable[Judged]], ledger: JournalLedger, bar: Progress
) -> Judged:
    """Judge pairs, while a thread, where Prefect's client takes no loop, moves the bar."""

    def count() -> None:
        bar.done += 1

    async def tell() -> None:
        while True:
            await asyncio.sleep(_REFRESH_S)
            bar.trouble = ledger.trouble
            await asyncio.to_thread(bar.advance, 0)

    telling = asyncio.create_task(tell())
    try:
        return await judging(count)
    finally:
        telling.cancel()


def annotator_scores(
    truth: Sequence[TruePair], judged: Iterable[JudgedTruth], store: StoreSettings
) -> Iterator[AnnotatorScore]:
    """Yield the scores of human annotators, then those of the agents."""
    people = list(score_humans(truth))
    yield from people
    if len(people) > 1:
        yield score_average_human(truth, people)
    database = open_database(store)
    keys = [item.key for item in truth]
    for annotator in judged:
        annotated = annotations.load_annotations(database, annotator.recipe_id, keys)
        yield score_agents(annotator, truth, annotated)


def score_humans(truth: Sequence[TruePair]) -> Iterator[AnnotatorScore]:
    """Yield the score of each human annotator, or group, over the pairs that they labelled."""
    for name in sorted({name for item in truth for name in item.by_people}):
        labels = [(item.by_people[name], item.label) for item in truth if name in item.by_people]
        yield AnnotatorScore(name=name, **_accuracy(labels))


def score_average_human(
    truth: Sequence[TruePair], people: Sequence[AnnotatorScore]
) -> AnnotatorScore:
    """Return the mean of people's accuracies, and the alpha of them all.

    The row of the average human in CoSQA+'s comparisons (arXiv 2406.11589v1, Tables 3 and 4).
    """
    return AnnotatorScore(
        name="average human",
        pairs=len(truth),
        decided=sum(any(v is not None for v in item.by_people.values()) for item in truth),
        accuracy=_mean(one.accuracy for one in people if one.accuracy is not None),
        alpha_with_people=alpha_with_people(truth),
    )


def alpha_with_people(
    truth: Sequence[TruePair], labels: Sequence[int | None] | None = None
) -> float | None:
    """Return Krippendorff's alpha, nominal, with people as coders and maybe an annotator.

    The annotator's label of an undecided pair is None.
    """
    names = sorted({name for item in truth for name in item.by_people})
    coders = [[item.by_people.get(name) for item in truth] for name in names]
    if labels is not None:
        coders.append(list(labels))
    if not names or len(coders) < 2:
        return None
    alpha = krippendorff_alpha(np.array(coders, np.float64), "nominal")
    return None if math.isnan(alpha) else alpha


def score_agents(
    annotator: JudgedTruth, truth: Sequence[TruePair], annotated: Sequence[Annotation]
) -> AnnotatorScore:
    """Return the score of a model's agents from their annotations of the pairs."""
    finished = {item.key: item for item in annotated if item.status != "failed"}
    unlabelled = UnlabelledPairs()
    for item in annotated:
        if item.status != "labelled":
            unlabelled.add(item)
    labels = {key: item.label for key, item in finished.items()}
    calls = [call for item in finished.values() for call in item.calls]
    runs = [run.result for item in finished.values() for run in item.executions]
    last = [item.executions[-1] for item in finished.values() if item.executions]
    costs = [call.cost_usd for call in calls if call.cost_usd is not None]
    seconds = sum(call.seconds for call in calls) + sum(run.seconds for run in runs)
    return AnnotatorScore(
        name=annotator.configuration,
        model=annotator.model,
        **_accuracy([(labels[item.key], item.label) for item in truth if item.key in labels]),
        alpha_with_people=alpha_with_people(truth, [labels.get(item.key) for item in truth]),
        failed=len(annotated) - len(finished),
        unlabelled=unlabelled.lines(),
        # A program that gates checked has run, too.
        executable=_mean(run.oracle is not None or was_executed(run.result) for run in last),
        usd=sum(costs) / len(finished) if finished and len(costs) == len(calls) else None,
        seconds=seconds / len(finished) if finished else None,
    )


def _accuracy(labels: Sequence[tuple[int | None, int]]) -> dict[str, Any]:
    """Return the fields of a score that follow from (given, true) labels."""
    right = sum(given == true for given, true in labels)
    interval = wilson_interval(right, len(labels))
    return {
        "pairs": len(labels),
        "decided": sum(given is not None for given, _ in labels),
        "accuracy": interval.mean if labels else None,
        "interval": interval if labels else None,
    }


def _mean(values: Iterable[float]) -> float | None:
    numbers = list(values)
    return fmean(numbers) if numbers else None


def annotators_document(scores: Sequence[AnnotatorScore]) -> Document:
    """Return for each model how well it and people judge, and what its labels cost."""
    people = [score for score in scores if not score.model]
    header = ("annotator", "decided", "accuracy", "95% interval", "alpha with people", "executable",
              "USD", "seconds")  # fmt: skip
    tables: list[Block] = []
    for model in dict.fromkeys(score.model for score in scores if score.model):
        rows = [_row(score) for score in scores if score in people or score.model == model]
        tables.append(Table(header, rows, caption=f"{model} against the known labels"))
    unlabelled = [
        f"{score.name} by {score.model}: {reason}" for score in scores
        for reason in score.unlabelled
    ]  # fmt: skip
    return Document("", [*tables, KeyValues(_COLUMNS), *unlabelled])


def _row(score: AnnotatorScore) -> list[str]:
    ends = (score.interval.low, score.interval.high) if score.interval else (None, None)
    return [
        score.name,
        f"{score.decided:,} of {score.pairs:,}",
        _figure(score.accuracy),
        " to ".join(_figure(end) for end in ends),
        _figure(score.alpha_with_people),
        _figure(score.executable),
        _figure(score.usd, ".6f", "unknown" if score.model else "-"),
        _figure(score.seconds, ".2f"),
    ]


def _figure(value: float | None, form: str = ".3f", missing: str = "-") -> str:
    return missing if value is None else format(value, form)
