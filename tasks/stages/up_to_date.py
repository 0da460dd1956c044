"""The check, before a server starts, that a command has anything to do, by the store alone."""

from collections.abc import Sequence
from typing import NamedTuple

from infra.errors import StoreError
from infra.store.benchmarks import Published
from tasks.ranking.methods import chosen_methods
from tasks.runtime.caching import is_done
from tasks.runtime.input_checks import ValidatedInputs
from tasks.runtime.references import CollectedSource
from tasks.sources import asks_written
from tasks.stages.annotate.plan import AnnotationRun, pending_rounds, taken_pairs
from tasks.stages.candidates import find_candidates
from tasks.stages.collect import collect_source
from tasks.stages.labels import judging_recipe, label_sets
from tasks.stages.pooling import unfound_origins
from tasks.stages.preflight import check_agents, collected_source
from tasks.stages.publish import (
    has_present_labels,
    publish_benchmark,
    published_benchmarks,
    sets_to_score,
)
from tasks.stages.report import report_file
from tasks.stages.scoring import OpenBenchmark, score_method
from tasks.stages.vectors import embed


class Done(NamedTuple):
    """The state of the store where a command has nothing to do.

    Attributes:
        source: The collections.
        published: The exports of a command that exports or scores.
        waiting: Failed pairs that are not due for another try.
        pending: Pairs that are pending for reasons that are not taken.
    """

    source: CollectedSource
    published: Sequence[Published] = ()
    waiting: int = 0
    pending: int = 0


def found_done(command: str, ready: ValidatedInputs) -> Done | None:
    """Return the result of a command with nothing to do, None where it may have work to do."""
    settings, database = ready.settings, ready.database
    try:
        source = collected_source(ready)
    except StoreError:
        return None
    inputs = {
        "database": database, "source": settings.source, "fingerprint": ready.fingerprint,
        "collections": [each for each in source.collections if each.queries],
        "collection": source.main, "search": source.search,
    }  # fmt: skip
    embedded = [is_done(embed, **inputs, encoder=each) for each in settings.search.encoders]
    lacks_origins = asks_written(settings.source) and unfound_origins(database, source.search)
    if lacks_origins or not (
        all(embedded) and is_done(collect_source, **inputs) and is_done(find_candidates, **inputs)
    ):
        return None
    done: Done | None = Done(source)
    if command == "annotate" or (command == "benchmark" and settings.annotation.agents):
        done = _judged(source, ready)
    if done is None or command in ("collect", "annotate"):
        return done
    inputs["settings"] = settings.publish
    if command == "evaluate":  # which scores what is exported, by whatever settings
        sets = sets_to_score(database, source, settings.publish)
        exported = [has_present_labels(database, each, settings.publish) for each in sets]
    else:
        sets = label_sets(database, source, people=settings.publish.labels != "agents")
        exported = [is_done(publish_benchmark, **inputs, labels=labels) for labels in sets]
    if not all(exported):
        return None
    if settings.evaluation.answers and command != "publish":
        return None  # a run tells whether they are those that were sealed
    published = published_benchmarks(sets, settings.publish)
    inputs["settings"] = settings.scoring
    methods = chosen_methods(settings.scoring) if command != "publish" else ()
    is_scored = all(
        is_done(score_method, **inputs, benchmark=OpenBenchmark(each), method=method)
        for each in published
        for method in methods
    )
    has_report = command == "publish" or report_file(settings.publish.folder).is_file()
    # A run says why nothing is exported.
    is_done_all = bool(published) and is_scored and has_report
    return done._replace(published=published) if is_done_all else None


def _judged(source: CollectedSource, ready: ValidatedInputs) -> Done | None:
    """Return the remaining work, or None if pairs are pending."""
    recipe = check_agents(ready, to_run=False)
    run = AnnotationRun.of(source.search, recipe, ready.settings)
    used = judging_recipe(ready.database, run.search)
    if used is None or used.recipe_id not in {recipe.recipe_id for recipe in run.rounds}:
        return None
    rounds = pending_rounds(ready.database, run)
    if any(taken_pairs(rounds, run.policy)):
        return None
    waiting = sum(each.not_due for each in rounds)
    return Done(source, (), waiting, sum(each.pending.total() for each in rounds))
