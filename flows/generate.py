"""The generate flow: a model writes answers to queries without a match, for people to confirm."""

from prefect import flow

from flows.runtime.runs import FlowSettings, run_name, writing
from tasks.stages.generate.confirm import write_waiting
from tasks.stages.generate.write import Generated, generate_codes, verifying_committee
from tasks.stages.preflight import check_agents, check_inputs, collected_source


@flow(name="generate", flow_run_name=run_name)
def generate(settings: FlowSettings = None) -> Generated:
    """Let a model write answers to the queries without a candidate that the agents label 1."""
    ready = check_inputs(settings)
    generation = ready.settings.generation
    committee = verifying_committee(ready.settings.committee, generation.configuration)
    check_agents(ready, committee, to_ask=True)
    source = collected_source(ready)
    with writing(ready.settings.store):
        found = generate_codes(ready.database, source, committee, generation)
        sheet = write_waiting(ready.database, source.main.name, ready.settings.publish.folder)
    return found.model_copy(update={"sheet": sheet})
