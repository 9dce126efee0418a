"""A receiver of OpenTelemetry's data on loopback: OTLP over HTTP, as collectors take it."""

import gzip
from typing import Any

from loopback import LoopbackServer, QuietHandler
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


class Received:
    """A span that came."""

    def __init__(self, span: Any, scope: str) -> None:
        self.name: str = span.name
        self.scope = scope
        self.id: bytes = span.span_id
        self.parent_id: bytes = span.parent_span_id
        self.trace_id: bytes = span.trace_id
        self.failed: bool = span.status.code == 2
        self.told: str = span.status.message
        self.attributes = values(span.attributes)


def values(attributes: Any) -> dict[str, Any]:
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in attributes}


class Receiver(LoopbackServer):
    """Keeps what it is sent."""

    def __init__(self) -> None:
        self.spans: list[Received] = []
        self.services: set[str] = set()
        self.points: dict[str, list[tuple[dict[str, Any], float]]] = {}
        super().__init__(_Handler)

    def path_of(self, span: Received) -> list[str]:
        """The names of a span and those around it, the outermost first."""
        by_id = {each.id: each for each in self.spans}
        path = [span]
        while path[0].parent_id in by_id:
            path.insert(0, by_id[path[0].parent_id])
        return [each.name for each in path]

    def named(self, name: str) -> list[Received]:
        return [span for span in self.spans if span.name == name]


class _Handler(QuietHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        body = gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body
        if self.path == "/v1/traces":
            for part in ExportTraceServiceRequest.FromString(body).resource_spans:
                self.server.services.add(values(part.resource.attributes)["service.name"])
                for scope in part.scope_spans:
                    self.server.spans += (Received(span, scope.scope.name) for span in scope.spans)
        else:
            for part in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                for metric in (metric for scope in part.scope_metrics for metric in scope.metrics):
                    points = [
                        (values(point.attributes), point.as_double or point.as_int) for point in metric.sum.data_points
                    ]
                    self.server.points[metric.name] = points
        self.send_body(200, b"", "application/x-protobuf")
