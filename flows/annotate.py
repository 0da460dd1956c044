"""Stage 4 as a flow: agents judge the candidates, shard by shard, on Ray."""

from prefect import flow
from prefect_ray import RayTaskRunner
from prefect_ray.context import remote_options

from flows.runtime.run_names import run_name
from infra.ray import box_resources, ensure_ray
from infra.settings import Settings
from tasks.runtime.references import AnnotationReference, RecipeReference, SearchReference
from tasks.stages.annotate.model_server import served_model
from tasks.stages.annotate.plan import AnnotationPlan, current_recipe, plan_annotation
from tasks.stages.candidates import find_candidates
from tasks.stages.collect import stored_collections
from tasks.stages.preflight import checked


@flow(name="annotate", flow_run_name=run_name)
def annotate(settings: Settings | None = None) -> list[AnnotationReference]:
    """Judge every candidate that the present recipe has not judged.

    Args:
        settings: What to annotate and how; read from file and environment when not given.
    """
    settings = checked(settings, judging=True)
    recipe = current_recipe(settings)
    return [
        annotate_search(
            find_candidates(settings.store, collection, settings.search), recipe, settings
        )
        for collection in stored_collections(settings.store, settings.source)
        if collection.for_agents
    ]


def annotate_search(
    search: SearchReference, recipe: RecipeReference, settings: Settings
) -> AnnotationReference:
    """Judge the candidates of one search that a recipe has not finished."""
    plan = plan_annotation(search, recipe, settings)
    if plan.pairs:
        ensure_ray(settings.ray)  # before Prefect's task runner would start its own
        annotate_shards(plan, settings)
    return plan.reference


@flow(
    name="annotate-shards",
    flow_run_name="annotate-{plan.reference.collection}",
    task_runner=RayTaskRunner(),
)
def annotate_shards(plan: AnnotationPlan, settings: Settings) -> int:
    """Hand shards to Ray's workers and store what comes back; return how many pairs failed.

    Args:
        plan: What is left to judge; the pairs themselves are read from the store.
        settings: How to judge it.
    """
    from tasks.stages.annotate.gather import annotate_pending  # noqa: PLC0415 - imports Ray

    with served_model(settings.llm) as endpoint, remote_options(resources=box_resources()):
        return annotate_pending(plan, settings, endpoint)
