"""The annotate flow: agents judge the candidates on Ray's workers."""

from typing import Any

from prefect import State, flow
from prefect.artifacts import create_markdown_artifact
from prefect.runtime import flow_run
from prefect.settings import PREFECT_API_URL
from prefect.states import Completed
from prefect_ray import RayTaskRunner
from prefect_ray.context import remote_options

from flows.runtime.approval import approved
from flows.runtime.runs import FlowSettings, Steps, rename_run, run_name
from flows.runtime.writing import writing
from infra.budget import run_budget
from infra.ray import box_resources, check_reach, ensure_ray
from infra.settings import Settings
from tasks.reports.plan import RunPlan, plan_document, plan_sentence
from tasks.reports.render import markdown_page
from tasks.runtime.references import JudgedPairs, RecipeReference
from tasks.runtime.run_events import artifact_key
from tasks.stages.annotate.plan import AnnotationPlan, plan_annotation
from tasks.stages.annotate.rounds import AnnotationRun
from tasks.stages.annotate.run_plan import plan_run
from tasks.stages.candidates import find_candidates
from tasks.stages.preflight import check_agents, check_ready, collected_source

_PATIENCE_S = 600.0  # longer than `cosqa publish` holds the store of the largest benchmark


@flow(name="annotate", flow_run_name=run_name)
def annotate(settings: FlowSettings = None) -> State[RecipeReference]:
    """Judge the candidates without a fresh label, for the reasons that the settings take.

    Args:
        settings: The settings; None reads them from file and environment.
    """
    ready = check_ready(settings)
    recipe = check_agents(ready.settings)
    source = collected_source(ready)
    with writing(ready.settings.store):
        found = find_candidates(
            ready.database, source.main, source.search, ready.settings.search, return_state=True
        )
        found.result()
    judged, _ = judge_candidates(AnnotationRun(source.search, recipe, ready.settings), [found])
    return Completed(data=recipe, message=f"{ready.settings.source.title}: {judged}")


def judge_candidates(run: AnnotationRun, after: Steps = ()) -> tuple[JudgedPairs, Steps]:
    """Judge the pending candidates of a search for the settings' reasons.

    Where the settings ask for it, a person agrees to the plan first; what is approved bounds it.

    Labelling rounds follow one another, each over all candidates.

    Args:
        run: The candidates, the recipe of the first round, and the checked settings.
        after: The steps before it.
    """
    planned = plan_run(run, wait_for=after, return_state=True)
    show_plan(planned.result())
    run = run.by(approved(planned.result(), run.settings))
    steps: Steps = [planned]
    judged = JudgedPairs()
    plans: list[AnnotationPlan] = []
    with writing(run.settings.store):
        budget = run_budget(run.settings)  # by now: the run that it waited for has spent too
        for of_round in run.rounds:
            before = [item for former in plans for item in former.reasons]
            chosen = plan_annotation(of_round, before, wait_for=steps, return_state=True)
            plans.append(chosen.result().model_copy(update={"budget": budget}))
            of_plan, steps = judge_plan(plans[-1], of_round.settings, [chosen])
            judged += of_plan
    return judged, steps


def show_plan(plan: RunPlan) -> None:
    """Show a plan as the run's name and as an artifact."""
    if flow_run.flow_name == annotate.name:
        rename_run(f"{annotate.name} {plan_sentence(plan)}")
    key = artifact_key("plan", plan.collection)
    page = markdown_page(plan_document(plan))
    create_markdown_artifact(page, key=key, description=plan_sentence(plan))


def judge_plan(plan: AnnotationPlan, settings: Settings, after: Steps) -> tuple[JudgedPairs, Steps]:
    """Judge a plan's pairs, if there are any; the file of their keys is removed at the end."""
    try:
        if not plan.pairs:
            return JudgedPairs(), after
        ensure_ray(settings.ray)  # else Prefect's task runner starts a cluster of its own
        check_reach(PREFECT_API_URL.value())
        return _judge(plan, settings, after)
    finally:
        plan.pairs_file.unlink(missing_ok=True)


def _judge(plan: AnnotationPlan, settings: Settings, after: Steps) -> tuple[JudgedPairs, Steps]:
    """Judge pairs; a store that another command holds for a while ends no run of hours."""
    patience_s = max(_PATIENCE_S, settings.store.lock_timeout_s)
    store = settings.store.model_copy(update={"lock_timeout_s": patience_s})
    settings = settings.model_copy(update={"store": store})
    follow: Any = annotate_pairs  # whose types know ``wait_for`` beside ``return_state`` alone
    judged: JudgedPairs = follow(plan, settings, wait_for=after)
    return judged, [judged]


@flow(
    name="annotate-pairs",
    flow_run_name="judge pairs of {plan.collection} by {plan.recipe.model}",
    task_runner=RayTaskRunner(),
)
def annotate_pairs(plan: AnnotationPlan, settings: Settings) -> JudgedPairs:
    """Judge pending pairs on Ray's workers and store their annotations.

    Args:
        plan: The pending pairs, by reference to the store.
        settings: The settings.
    """
    from tasks.stages.annotate.gather import annotate_pending  # noqa: PLC0415 - imports Ray

    with remote_options(resources=box_resources()):
        return annotate_pending(plan, settings)
