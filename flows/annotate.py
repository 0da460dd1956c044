"""Stage 4 as a flow: agents judge the candidates, shard by shard, on Ray."""

from prefect import flow
from prefect_ray import RayTaskRunner
from prefect_ray.context import remote_options

from flows.runtime.run_names import run_name
from infra.ray import box_resources, ensure_ray
from infra.settings import Settings
from tasks.runtime.references import AnnotationReference
from tasks.stages.annotate.gather import (
    annotation_run,
    canary_watch,
    gather_annotations,
    open_outbox,
)
from tasks.stages.annotate.model_server import served_model
from tasks.stages.annotate.plan import AnnotationPlan, plan_annotation
from tasks.stages.annotate.shard import annotate_shard
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
    references = []
    for collection in stored_collections(settings.store, settings.source):
        if collection.for_agents:
            search = find_candidates(settings.store, collection, settings.search)
            plan = plan_annotation(search, settings)
            if plan.shards:
                ensure_ray(settings.ray)  # before Prefect's task runner would start its own
                annotate_shards(plan, settings)
            references.append(plan.reference)
    return references


@flow(
    name="annotate-shards",
    flow_run_name="annotate-{plan.reference.collection}",
    task_runner=RayTaskRunner(),
)
def annotate_shards(plan: AnnotationPlan, settings: Settings) -> int:
    """Hand the shards to Ray's workers and store what comes back; return how many pairs failed.

    Args:
        plan: What is left to judge.
        settings: How to judge it.
    """
    with served_model(settings.llm) as endpoint, annotation_run(plan, settings) as bar:
        outbox = open_outbox()
        with remote_options(resources=box_resources()):
            futures = [
                annotate_shard.submit(
                    number, shard, settings, plan.reference.recipe_id, outbox, endpoint
                )
                for number, shard in enumerate(plan.shards)
            ]
        return gather_annotations(futures, outbox, settings, bar, canary_watch(plan, settings))
