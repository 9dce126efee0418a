"""Turns the tracing of every bounded graph in this process on and off, and sends it where the environment says."""

import os
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from typing import Any

from loopwright.engine.events.schema import observers
from loopwright.errors import ConfigError
from loopwright.models.prices import prices


def instrument(tracer_provider: Any = None, meter_provider: Any = None) -> None:
    """Trace every run of a bounded graph in this process from now on; asked again, the providers are replaced.

    Args:
        tracer_provider: Makes the spans; by default the one that the program has set for OpenTelemetry.
        meter_provider: Counts; the same.

    Raises:
        ConfigError: If OpenTelemetry is not installed.
    """
    try:
        from opentelemetry import metrics, trace

        from loopwright.tracing.spans import Figures, RunSpans
    except ModuleNotFoundError as error:
        raise ConfigError(f"{error.name} is not installed: pip install 'loopwright[otel]'") from error
    tracer = trace.get_tracer("loopwright", tracer_provider=tracer_provider)
    figures = Figures(metrics.get_meter("loopwright", meter_provider=meter_provider))
    price = prices()
    observers[:] = [lambda graph: RunSpans(graph, tracer, figures, price)]


def uninstrument() -> None:
    """Trace no run that begins from now on."""
    observers.clear()


ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT")
"""Where one of these is set, a server traces its runs and sends them there, by OTLP over HTTP: spans and figures, or
the one that its variable is for."""


@contextmanager
def exporting() -> Generator[None]:
    """Trace the runs of this process while within, if the environment says where to; what is left is sent at the end.

    A program that set OpenTelemetry up before (``opentelemetry-instrument`` does) keeps what it set.

    Raises:
        ConfigError: If the extra is not installed.
    """
    if not any(os.environ.get(name) for name in ENDPOINTS) or os.environ.get("OTEL_SDK_DISABLED") == "true":
        yield
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
    # The variables OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES say more than this.
    resource = Resource.create({} if os.environ.get("OTEL_SERVICE_NAME") else {"service.name": "loopwright"})
    both, for_spans, for_figures = (os.environ.get(name) for name in ENDPOINTS)
    with ExitStack() as at_end:
        if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
            if both or for_spans:
                tracers = TracerProvider(resource=resource)
                tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
                trace.set_tracer_provider(tracers)
                at_end.callback(tracers.shutdown)
            if both or for_figures:
                meters = MeterProvider([PeriodicExportingMetricReader(OTLPMetricExporter())], resource)
                metrics.set_meter_provider(meters)
                at_end.callback(meters.shutdown)
        instrument()
        at_end.callback(uninstrument)
        yield
