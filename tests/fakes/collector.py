"""An OpenTelemetry collector on loopback that remembers the spans it gets."""

import gzip
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple, Self

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


class ReceivedSpan(NamedTuple):
    """A span: ids are bytes, ``parent`` is empty for the first one of a trace."""

    name: str
    trace: bytes
    own: bytes
    parent: bytes
    service: str
    attributes: dict[str, str | int]


class Collector:
    """A collector, which serves inside a ``with``."""

    def __init__(self) -> None:
        self.spans: list[ReceivedSpan] = []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                if self.headers.get("content-encoding") == "gzip":
                    body = gzip.decompress(body)
                collector.spans += _spans_in(body)
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Print nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def address(self) -> str:
        """What OTEL_EXPORTER_OTLP_ENDPOINT is to be."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def named(self, name: str) -> list[ReceivedSpan]:
        """Return the spans whose name begins so."""
        return [span for span in self.spans if span.name.startswith(name)]

    def parents(self, span: ReceivedSpan) -> list[str]:
        """Return the names of the spans above one, the nearest first."""
        by_id = {other.own: other for other in self.spans}
        names = []
        while span.parent in by_id:
            span = by_id[span.parent]
            names.append(span.name)
        return names

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _spans_in(body: bytes) -> list[ReceivedSpan]:
    request = ExportTraceServiceRequest.FromString(body)
    found = []
    for resource in request.resource_spans:
        named = {item.key: item.value.string_value for item in resource.resource.attributes}
        for scope in resource.scope_spans:
            for span in scope.spans:
                attributes: dict[str, str | int] = {
                    item.key: item.value.string_value or item.value.int_value
                    for item in span.attributes
                }
                ids = span.trace_id, span.span_id, span.parent_span_id
                found.append(ReceivedSpan(span.name, *ids, named["service.name"], attributes))
    return found
