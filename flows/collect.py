"""The collect flow: sources, vectors, candidates."""

from typing import Any

from prefect import State, flow
from prefect.states import Completed

from flows.runtime.runs import SIDE_BY_SIDE, FlowSettings, Steps, results_of, run_name, writing
from infra.collected import StoredCollection
from infra.store.candidates import count_unjudged
from tasks.reports.text import counted
from tasks.runtime.input_checks import ValidatedInputs
from tasks.runtime.references import CollectedSource
from tasks.sources import asks_written
from tasks.stages.candidates import find_candidates, search_of
from tasks.stages.collect import collect_source
from tasks.stages.generate.queries import is_unwritten, write_queries
from tasks.stages.pooling import pool_origins
from tasks.stages.preflight import check_inputs
from tasks.stages.vectors import embed


@flow(name="collect", flow_run_name=run_name, task_runner=SIDE_BY_SIDE)
def collect(settings: FlowSettings = None) -> State[CollectedSource]:
    """Read the source, embed its texts, and find the candidates of every query."""
    ready = check_inputs(settings)
    source, _ = collect_candidates(ready)
    name, outcome = source.main.name, counted(source.main.codes, "codes")
    if ready.settings.annotation.agents:
        pairs, queries = count_unjudged(ready.database, source.search.search_id, name)
        outcome = f"{counted(queries, 'new queries')}, {counted(pairs, 'pairs')} to judge"
    return Completed(data=source, message=with_notes(f"{name}: {outcome}", source))


def with_notes(message: str, source: CollectedSource) -> str:
    """Return a run's last message, with what its owner should know of the input below it."""
    notes = (f"{each.name}: {note}" for each in source.collections for note in each.notes)
    return "\n".join([message, *notes])


def read_source(ready: ValidatedInputs) -> tuple[StoredCollection, State[Any]]:
    """Read the source, whose codes are searched whole; return its collection and the step."""
    with writing(ready.settings.store):
        read = collect_source(
            ready.database, ready.settings.source, ready.fingerprint, return_state=True
        )
        return read.result()[0], read


def collect_candidates(ready: ValidatedInputs) -> tuple[CollectedSource, Steps]:
    """Collect queries and codes, their vectors and candidates; return references and the step."""
    settings, database = ready.settings, ready.database
    with writing(settings.store):
        wrote: Steps = []
        if is_unwritten(database, settings.source, ready.fingerprint):
            written = write_queries(
                database, settings.source, settings.llm, settings.generation,
                settings.reannotation.budget_usd, return_state=True,
            )  # fmt: skip
            written.result()
            wrote = [written]
        read = collect_source(
            database, settings.source, ready.fingerprint, wait_for=wrote, return_state=True
        )
        collections = read.result()
        searched = [collection for collection in collections if collection.queries]
        embedded = [
            embed.submit(
                database,
                searched,
                encoder,
                settings.encoder,
                settings.ray,
                wait_for=[read],
                return_state=False,
            )
            for encoder in settings.search.encoders
        ]
        results_of(embedded)
        search = search_of(database, collections[0], settings.search)
        found = find_candidates(
            database, collections[0], search, settings.search, wait_for=embedded, return_state=True
        )
        found.result()
        if asks_written(settings.source):
            found = pool_origins(database, search, wait_for=[found], return_state=True)
            found.result()
    return CollectedSource(collections=tuple(collections), search=search), [found]
