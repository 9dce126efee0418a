"""What a stream told last, in whatever shape the caller asked for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from loopwright.engine.events.stops import calls_closed
from loopwright.engine.ledger import STOP_REASON, StopReason

if TYPE_CHECKING:
    from loopwright.engine.graph import BoundedGraph


class LastValues:
    """Follows a stream, so that a run that is cut short can still end with its last values.

    Args:
        graph: The graph.
        options: The other arguments of LangGraph's ``stream``.
        namespace: Where a graph inside a task runs; its own chunks are told to be from there, as those of the second
            graph that a task calls are told to be from ``1`` below it.
    """

    def __init__(self, graph: BoundedGraph, options: Mapping[str, Any], namespace: str | None) -> None:
        self._space = tuple(namespace.split("|")) if namespace else ()
        self._depth = len(self._space)
        modes = options["stream_mode"]
        self.modes: list[str] = [modes] if isinstance(modes, str) else list(modes)
        """What LangGraph is to be asked for: it names the mode of a chunk to who asks with a list, and to no other."""
        self._named = isinstance(modes, list)
        self._whole = graph.stream_channels_asis
        self._keys = options.get("output_keys") or self._whole
        self._subgraphs = bool(options.get("subgraphs"))
        self._v2 = options.get("version") == "v2"
        self.values: Any = None if isinstance(self._keys, str) else {}

    def keep(self, state: Any) -> None:
        """Take a whole state: what the caller is shown of it."""
        if self._keys == self._whole:
            self.values = state
        elif isinstance(self._keys, str):
            self.values = state.get(self._keys)
        else:
            self.values = {key: state[key] for key in self._keys if key in state}

    def see(self, chunk: Any) -> Any:
        """Take a chunk of the stream, and give it in the shape that the caller asked for."""
        if self._v2:
            mode, space, payload = chunk["type"], chunk["ns"], chunk["data"]
        else:
            space, mode, payload = chunk if self._subgraphs else (self._space, *chunk)
        if all(part.isdigit() for part in space[self._depth :]):  # else it is of a graph inside
            self._space = space
            if mode == "values":
                self.values = payload
                if not isinstance(payload, dict) and not isinstance(self._keys, str):  # version 2: of the user's class
                    self.values = {key: getattr(payload, key) for key in self._keys if hasattr(payload, key)}
        return chunk if self._v2 or self._named else self._shaped(space, mode, payload)

    def closing(self, stop: StopReason) -> Iterator[Any]:
        """The last chunks of a run that ends with what it has."""
        values = {self._keys: self.values} if isinstance(self._keys, str) else self.values
        payloads: dict[str, Any] = {"updates": {stop["loop"]: {**calls_closed(values, stop), STOP_REASON: stop}}}
        values = {**values, **calls_closed(values, stop, whole=True)}
        if not isinstance(self._keys, str):
            payloads["values"] = {**values, STOP_REASON: stop}
        elif self.values is not None:  # the value of the one key that the caller asked for
            payloads["values"] = values[self._keys]
        yield from self.chunks(payloads)

    def chunks(self, payloads: Mapping[str, Any]) -> Iterator[Any]:
        """Chunks by stream mode, of those that the caller asked for and in the shape that he asked for."""
        return (self._shaped(self._space, mode, payloads[mode]) for mode in self.modes if mode in payloads)

    def _shaped(self, space: tuple[str, ...], mode: str, payload: Any) -> Any:
        if self._v2:
            return {"type": mode, "ns": space, "data": payload, **({"interrupts": ()} if mode == "values" else {})}
        parts = [*([space] if self._subgraphs else []), *([mode] if self._named else []), payload]
        return parts[0] if len(parts) == 1 else tuple(parts)
