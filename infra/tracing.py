"""OpenTelemetry traces, sent where the environment says; without it nothing is imported or done.

Prefect makes the spans of flows and tasks, on Ray workers too, and those of this program are below
them. OpenTelemetry's own variables configure the rest, such as ``OTEL_EXPORTER_OTLP_HEADERS``.
"""

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_CONTEXT = ("traceparent", "tracestate")  # as variables in capitals
_PATIENCE_S = 1.0  # that the end of a run waits for a collector, which may not answer
_RUN = "prefect.run.type"  # an attribute of the spans of flows and tasks

_log = logging.getLogger(__name__)
_tracer: "Tracer | None" = None

Note = Callable[..., None]


def start_tracing() -> bool:
    """Send spans to the collector that the environment names; return whether it names one.

    To be called before Prefect begins a run. A collector that does not answer disturbs no run, nor
    does a missing package: they are logged.
    """
    global _tracer  # noqa: PLW0603 - there is one tracer a process, as in OpenTelemetry itself
    is_wanted = any(os.environ.get(name) for name in _ENDPOINTS)
    if not is_wanted or os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return False
    if _tracer is None:
        try:
            _set_provider()
        except ImportError as error:
            _log.warning(
                "%s is set, but traces cannot be sent (%s): install the extra `telemetry`, as by "
                "`pip install --constraint constraints.txt '.[telemetry]'`", _ENDPOINTS[0], error,
            )  # fmt: skip
            return False
        from opentelemetry.trace import get_tracer  # noqa: PLC0415 - only where it is wanted

        _adopt_parent()
        _tracer = get_tracer("cosqa")
    return True


@contextmanager
def span(name: str, **attributes: str | int) -> Iterator[Note]:
    """Measure the inside of a ``with`` as a span; yield a function that adds attributes to it.

    Args:
        name: What is done, such as "model request".
        attributes: What it is done to.
    """
    if _tracer is None:
        yield lambda **_: None
        return
    with _tracer.start_as_current_span(name, attributes=_named(attributes)) as current:

        def note(**more: str | int) -> None:
            current.set_attributes(_named(more))

        yield note


def environment_of_workers() -> dict[str, str]:
    """Return the variables by which spans of other processes come below the present one."""
    if _tracer is None:
        return {}
    from opentelemetry.propagate import inject  # noqa: PLC0415 - only where it is wanted

    carrier: dict[str, str] = {}
    inject(carrier)
    return {name.upper(): value for name, value in carrier.items() if name in _CONTEXT}


def _adopt_parent() -> None:
    """Let spans of this process come below the one that its environment names, if it does."""
    from opentelemetry.context import attach  # noqa: PLC0415 - only where it is wanted
    from opentelemetry.propagate import extract  # noqa: PLC0415

    attach(
        extract({name: os.environ[name.upper()] for name in _CONTEXT if name.upper() in os.environ})
    )


def _named(attributes: dict[str, str | int]) -> dict[str, str | int]:
    return {f"cosqa.{name}": value for name, value in attributes.items()}


def _set_provider() -> None:
    """Let spans be sent in the background, and those that wait at the end of each run.

    A Ray worker is killed soon after its task has ended. Where a provider is there already, as by
    ``opentelemetry-instrument``, it stays.
    """
    from opentelemetry import trace  # noqa: PLC0415 - only where it is wanted
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415
        OTLPSpanExporter,
    )
    from opentelemetry.sdk.resources import SERVICE_NAME, Resource  # noqa: PLC0415
    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

    class UntilEachRunsEnd(BatchSpanProcessor):
        _sending: Thread | None = None

        def on_end(self, span: ReadableSpan) -> None:
            super().on_end(span)
            if _RUN in (span.attributes or {}) and not (self._sending and self._sending.is_alive()):
                self._sending = Thread(target=self.force_flush, daemon=True)
                self._sending.start()
                self._sending.join(_PATIENCE_S)

    if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        name = os.environ.get("OTEL_SERVICE_NAME", "cosqa")
        provider = TracerProvider(resource=Resource.create({SERVICE_NAME: name}))
        provider.add_span_processor(UntilEachRunsEnd(OTLPSpanExporter()))
        trace.set_tracer_provider(provider)
