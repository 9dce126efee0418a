"""Sends what is traced to where OpenTelemetry's usual variables say."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager

from loopwright.errors import ConfigError
from loopwright.tracing.instrumenting import instrument, uninstrument

ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT")
"""Where one of these is set, a server traces its runs and sends them there, by OTLP over HTTP."""


@contextmanager
def exporting() -> Generator[bool]:
    """Trace the runs of this process while within, if the environment says where to; what is left is sent at the end.

    A program that set OpenTelemetry up before (``opentelemetry-instrument`` does) keeps what it set.

    Raises:
        ConfigError: If the extra is not installed.
    """
    if not any(os.environ.get(name) for name in ENDPOINTS) or os.environ.get("OTEL_SDK_DISABLED") == "true":
        yield False
        return
    try:
        from opentelemetry import metrics, trace
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ModuleNotFoundError as error:
        raise ConfigError(f"{error.name} is not installed: pip install 'loopwright[otel]'") from error
    made: list[TracerProvider | MeterProvider] = []
    # The variables OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES say more than this.
    resource = (
        Resource.create() if os.environ.get("OTEL_SERVICE_NAME") else Resource.create({"service.name": "loopwright"})
    )
    if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        tracers = TracerProvider(resource=resource)
        tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        trace.set_tracer_provider(tracers)
        meters = MeterProvider([PeriodicExportingMetricReader(OTLPMetricExporter())], resource)
        metrics.set_meter_provider(meters)
        made += [tracers, meters]
    instrument()
    try:
        yield True
    finally:
        uninstrument()
        for provider in made:
            provider.shutdown()
