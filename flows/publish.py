"""Stage 5 as a flow: labelled benchmarks are exported."""

from prefect import flow

from flows.naming import run_name
from infra.settings import Settings
from infra.store.benchmarks import Published
from tasks.collect import stored_collections
from tasks.preflight import checked
from tasks.publish import label_origins, publish_benchmark


@flow(name="publish", flow_run_name=run_name)
def publish(settings: Settings | None = None) -> list[Published]:
    """Export one benchmark for each origin of labels of each collection.

    Args:
        settings: What to publish and where; read from file and environment when not given.
    """
    settings = checked(settings)
    published = [
        publish_benchmark(collection, origin, settings)
        for collection in stored_collections(settings.store, settings.source)
        for origin in label_origins(settings.store, collection, settings.search)
    ]
    return [item for item in published if item is not None]
