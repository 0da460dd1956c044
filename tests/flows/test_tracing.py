"""The law of traces in whole runs: one trace from the flow to the requests of Ray's workers."""

from pathlib import Path

import pytest

from tests.fakes.collector import Collector
from tests.fakes.llm_server import ScriptedServer
from tests.flows.cases import CASES, script
from tests.flows.world import World, environment

pytestmark = [
    pytest.mark.docker, pytest.mark.slow, pytest.mark.nightly,
    pytest.mark.usefixtures("engine"),
]  # fmt: skip


def test_a_run_is_one_trace_from_the_flow_to_the_programs_of_its_pairs(
    folder: Path, prefect_server: str
) -> None:
    cases = {name: CASES[name] for name in ("clear_match", "unclear_passed")}
    with ScriptedServer(script(cases)) as model, Collector() as collector:
        address = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.address}
        world = World(
            folder, environment(model.base_url, PREFECT_API_URL=prefect_server, **address)
        )
        world.write(list(cases.values()))
        for command in ("collect", "annotate"):
            done = world.run_alone(command)
            assert done.returncode == 0, done.stdout[-5_000:]
    pairs = collector.named("pair")
    assert {span.attributes["cosqa.path"] for span in pairs} == set(cases)
    [flow] = {collector.parents(span)[-1] for span in pairs}
    assert flow.startswith("annotate"), "the first span of the trace is the flow's"
    assert all(len(collector.parents(span)) >= 2 for span in pairs), "a task is between"
    [program] = collector.named("program in a box")
    assert program.attributes["cosqa.outcome"] == "passed"
    assert collector.parents(program)[0] == "pair"
    requests = collector.named("model request")
    assert {collector.parents(span)[0] for span in requests} == {"pair"}
    assert len(requests) == len(model.calls)
    assert collector.named("store transaction")
