"""Laws of tracing: off it costs nothing, on it reaches a collector, and it disturbs no run."""

import os
import subprocess
import sys

from infra.tracing import span, start_tracing
from tests.fakes.collector import Collector

WORK = """
import os, sys, time
import infra.tracing as tracing
if len(sys.argv) > 1:
    sys.modules["opentelemetry.exporter"] = None
started = tracing.start_tracing()
if started and os.environ.get("RUN_ENDS"):
    from opentelemetry import trace
    began = time.monotonic()
    for _ in range(3):
        trace.get_tracer("x").start_span("run", attributes={"prefect.run.type": "flow"}).end()
    print(time.monotonic() - began, flush=True)
    os._exit(0)
with tracing.span("pair", query="q") as note:
    with tracing.span("model request"):
        pass
    note(path="clear_match", tokens=5)
print(started, any(name.startswith("opentelemetry") for name in sys.modules))
"""


def work(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    return subprocess.run(
        [sys.executable, "-c", WORK, *words],
        env=clean | environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )


def test_without_an_address_nothing_is_imported_or_sent() -> None:
    assert work().stdout.split() == ["False", "False"]
    assert not start_tracing()
    with span("nothing", number=1) as note:
        note(more="nothing")


def test_spans_reach_the_collector_one_below_the_other() -> None:
    with Collector() as collector:
        done = work(OTEL_EXPORTER_OTLP_ENDPOINT=collector.address)
        assert done.stdout.split() == ["True", "True"]
    [request], [pair] = collector.named("model request"), collector.named("pair")
    assert (request.parent, request.trace) == (pair.own, pair.trace)
    assert pair.attributes == {
        "cosqa.query": "q", "cosqa.path": "clear_match", "cosqa.tokens": 5,
    }  # fmt: skip
    assert pair.service == "cosqa"


def test_opentelemetrys_own_variables_count() -> None:
    with Collector() as collector:
        address = {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"{collector.address}/v1/traces"}
        work(**address, OTEL_SERVICE_NAME="nightly")
        assert {item.service for item in collector.spans} == {"nightly"}
        assert work(**address, OTEL_SDK_DISABLED="true").stdout.startswith("False")
        assert len(collector.spans) == 2


def test_a_missing_package_or_collector_disturbs_nothing() -> None:
    address = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
    done = work("without exporter", **address)
    assert done.stdout.startswith("False")
    assert "telemetry" in done.stderr
    assert "Traceback" not in done.stderr
    assert work(**address, OTEL_EXPORTER_OTLP_TIMEOUT="1").stdout.startswith("True")


def test_a_collector_that_does_not_answer_holds_up_no_run() -> None:
    done = work(OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9", RUN_ENDS="1")
    assert float(done.stdout) < 3
