"""Stage 5 as a flow: labelled benchmarks are exported."""

from prefect import flow
from prefect.logging import get_run_logger

from flows.runtime.run_names import run_name
from infra.settings import Settings
from infra.store.benchmarks import Published
from tasks.stages.collect import stored_collections
from tasks.stages.labels import label_origins, withholds_demo
from tasks.stages.preflight import checked
from tasks.stages.publish import publish_benchmark


@flow(name="publish", flow_run_name=run_name)
def publish(settings: Settings | None = None) -> list[Published]:
    """Export one benchmark for each origin of labels of each collection.

    Args:
        settings: What to publish and where; read from file and environment when not given.
    """
    settings = checked(settings)
    published: list[Published | None] = []
    for collection in stored_collections(settings.store, settings.source):
        if withholds_demo(collection, settings):
            get_run_logger().warning(
                "the agents' labels of %s are by the demo model and are not exported; "
                "--allow-demo exports them, marked as a demonstration", collection.name,
            )  # fmt: skip
        published += [
            publish_benchmark(collection, origin, settings)
            for origin in label_origins(collection, settings)
        ]
    return [item for item in published if item is not None]
