"""The collect flow: sources, vectors, candidates."""

from prefect import flow

from flows.runtime.parameters import FlowSettings
from flows.runtime.run_names import run_name
from flows.runtime.writing import writing
from tasks.encoders import split_dtype
from tasks.runtime.references import CollectedSource
from tasks.stages.agreement import report_agreement
from tasks.stages.candidates import find_candidates, search_of
from tasks.stages.collect import collect_source
from tasks.stages.embed import embed
from tasks.stages.preflight import Ready, check_ready


@flow(name="collect", flow_run_name=run_name)
def collect(settings: FlowSettings = None) -> CollectedSource:
    """Read the source, embed its texts, and find the candidates of every query.

    Args:
        settings: The settings; None reads them from file and environment.
    """
    return collect_candidates(check_ready(settings))


def collect_candidates(ready: Ready) -> CollectedSource:
    """Collect the source's queries and codes, their vectors and candidates; return references."""
    with writing(ready.settings.store):
        return _collected(ready)


def _collected(ready: Ready) -> CollectedSource:
    settings, database = ready.settings, ready.database
    collections = collect_source(database, settings.source, ready.fingerprint)
    searched = [collection for collection in collections if collection.queries]
    for encoder in settings.search.encoders:
        embed(database, searched, encoder, settings.encoder, settings.ray)
        if split_dtype(encoder)[1] != "float32":
            report_agreement(database, collections[0], encoder, settings.encoder, settings.ray)
    search = search_of(database, collections[0], settings.search)
    find_candidates(database, collections[0], search, settings.search)
    return CollectedSource(collections=tuple(collections), search=search)
