"""Turns the tracing of every bounded graph in this process on and off."""

from __future__ import annotations

import importlib.util
from typing import Any

from loopwright.engine.events.schema import Observer, observers
from loopwright.errors import ConfigError
from loopwright.models.prices import kept_prices

_made: list[Any] = []


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
    uninstrument()
    tracer = trace.get_tracer("loopwright", tracer_provider=tracer_provider)
    figures = Figures(metrics.get_meter("loopwright", meter_provider=meter_provider))
    price = kept_prices() if importlib.util.find_spec("genai_prices") else None

    def make(graph: Any) -> Observer:
        return RunSpans(graph, tracer, figures, price)

    _made.append(make)
    observers.append(make)


def uninstrument() -> None:
    """Trace no run that begins from now on."""
    while _made:
        observers.remove(_made.pop())
