"""Figures for Prometheus: what runs did."""

import threading
from collections.abc import Iterable, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from loopwright.engine.events.schema import LoopDecided, ModelCalled, RunEvent, run_event
from loopwright.runs.schemas import ENDED, NewEvents, RunRecord

OTHER = "OTHER"
"""What is counted together, since there could be any number of it."""
RUN_SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900)
"""Upper bounds of the buckets for a run's wall time, in seconds."""
MOST_MODELS = 100
"""Models that are counted by name; clients can choose any name, and each would stay here for ever."""
COUNTED = frozenset({"loop", "model_called"})
"""The tags of the events that are looked into."""


class Metrics:
    """The figures of one server, in a registry of their own. Methods may be called from any thread."""

    def __init__(self) -> None:
        registry = self.registry = CollectorRegistry()
        self._runs = Counter(
            "loopwright_runs", "Runs that ended, or wait for a person", ["workflow", "status"], registry=registry
        )
        self._now: dict[str, Gauge] = {
            "running": Gauge("loopwright_runs_running", "Runs that go on", ["workflow"], registry=registry),
            "queued": Gauge("loopwright_runs_queued", "Runs that wait their turn", ["workflow"], registry=registry),
        }
        self._seconds = Histogram(
            "loopwright_run_seconds", "Wall time of ended runs", ["workflow"], buckets=RUN_SECONDS, registry=registry
        )
        self._loops = Counter(
            "loopwright_loop_decisions", "Decisions about further passes", ["workflow", "loop", "decision"],
            registry=registry,
        )  # fmt: skip
        self._tokens = Counter(
            "loopwright_model_tokens", "Tokens of chat models", ["workflow", "model", "kind"], registry=registry
        )
        self._cost = Counter(
            "loopwright_model_cost_dollars", "Price of chat models, where it is known", ["workflow", "model"],
            registry=registry,
        )  # fmt: skip
        self._events = Counter("loopwright_events_written", "Events that were kept", ["channel"], registry=registry)
        self.streams = Gauge("loopwright_sse_clients", "Clients that follow events", registry=registry)
        """Clients that follow events now."""
        self._going: dict[str, str] = {}
        """Run that goes on in this process -> its workflow."""
        self._models: set[str] = set()
        self._lock = threading.Lock()

    def text(self, workflows: Iterable[str], under_way: Mapping[tuple[str, str], int]) -> bytes:
        """All figures in Prometheus' text format; of the runs under way those that `RunStore.under_way` gave."""
        for workflow in workflows:
            for status, gauge in self._now.items():
                gauge.labels(workflow).set(under_way.get((workflow, status), 0))
        return generate_latest(self.registry)

    def kept(self, runs: Iterable[RunRecord], events: Iterable[NewEvents]) -> None:
        """Count what was kept; told again of a run that did not change, nothing is counted."""
        runs = [*runs]
        for run in runs:
            if run.status == "running":  # so that its events are known for its workflow's
                self._see(run)
        for new in events:
            self._events.labels(new.channel).inc(len(new.events))
            known = self._going.get(new.run_id)
            for each in new.events if known and new.channel == "run" else ():
                if known and each.name in COUNTED:
                    self.happened(known, run_event.validate_json(each.data))
        for run in runs:
            self._see(run)

    def happened(self, workflow: str, event: RunEvent) -> None:
        """Count a decision about another pass, or a model call, in a run of a workflow."""
        if isinstance(event, LoopDecided):
            self._loops.labels(workflow, event.loop, event.decision).inc()
        elif isinstance(event, ModelCalled):
            model = self._counted_model(event.model)
            self._tokens.labels(workflow, model, "input").inc(event.input_tokens or 0)
            self._tokens.labels(workflow, model, "output").inc(event.output_tokens or 0)
            if event.cost is not None:
                self._cost.labels(workflow, model).inc(event.cost)

    def _see(self, run: RunRecord) -> None:
        with self._lock:
            before = self._going.pop(run.id, None)
            if run.status == "running":
                self._going[run.id] = run.workflow
        if before and run.status in ENDED:
            self._runs.labels(run.workflow, run.status).inc()
            if run.seconds is not None:
                self._seconds.labels(run.workflow).observe(run.seconds)

    def _counted_model(self, model: str) -> str:
        with self._lock:
            if len(self._models) < MOST_MODELS:
                self._models.add(model)
            return model if model in self._models else OTHER
