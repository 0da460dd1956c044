"""Stage 1 to 3 as a flow: sources, vectors, candidates."""

from prefect import flow

from flows.runtime.run_names import run_name
from infra.settings import Settings
from infra.store.corpus import StoredCollection
from tasks.stages.candidates import find_candidates
from tasks.stages.collect import collect_source
from tasks.stages.embed import embed
from tasks.stages.preflight import checked


@flow(name="collect", flow_run_name=run_name)
def collect(settings: Settings | None = None) -> list[StoredCollection]:
    """Read the sources, embed every text, find the candidates of every query.

    Args:
        settings: What to collect; read from file and environment when not given.
    """
    settings = checked(settings)
    collections = collect_source(settings.store, settings.source)
    for encoder in settings.search.encoders:
        embed(settings, collections, encoder)
    for collection in collections:
        if collection.for_agents:
            find_candidates(settings.store, collection, settings.search)
    return collections
