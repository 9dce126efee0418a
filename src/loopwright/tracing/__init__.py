"""Bounded graphs in OpenTelemetry: spans of runs, nodes and passes, and figures of loops; the extra ``otel``."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
