"""Stage 5 as a flow: labelled benchmarks are exported."""

from prefect import flow

from flows.naming import run_name
from infra.settings import Settings, load_settings
from tasks.collect import stored_collections
from tasks.publish import label_origins, publish_benchmark
from tasks.references import BenchmarkReference


@flow(name="publish", flow_run_name=run_name)
def publish(settings: Settings | None = None) -> list[BenchmarkReference]:
    """Export one benchmark for each origin of labels of each collection.

    Args:
        settings: What to publish and where; read from file and environment when not given.
    """
    settings = settings or load_settings()
    return [
        publish_benchmark(collection, origin, settings)
        for collection in stored_collections(settings.store, settings.source)
        for origin in label_origins(collection, settings)
    ]
