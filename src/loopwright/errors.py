"""Every exception that Loopwright raises, in one tree.

::

    LoopwrightError
    ├── ConfigError                 a configuration key, value or file is wrong
    ├── GraphError                  a graph cannot be bound, verified or loaded
    │   ├── LoopDeclarationError    a Loop contradicts itself or the graph
    │   ├── UnboundedCycleError     a cycle crosses no bound
    │   ├── UndeclaredJumpError     a node went where the proof did not count with it
    │   └── UndeclaredFanOutError   more tasks were sent with Send than declared
    ├── BrokenAssumptionError       a run went beyond its certificate; names the nodes that ran too often
    ├── NodeFailed                  a node raised; names the node and shows its input
    │   └── NodeTimeout             a node took longer than its timeout (also a TimeoutError)
    ├── CheckpointError             a checkpoint cannot be read, written or resumed
    │   └── GraphChanged            a graph of another structure wrote it
    ├── ModelError                  a chat model is unknown, unreachable or answers badly
    │   ├── StructuredReplyError    a reply that still breaks its schema after the repairs
    │   └── WeightsError            an embedded model's files are missing, damaged or not the expected ones
    ├── BackendError                something that answers are looked up in failed; never "nothing found"
    │   ├── StoreError              a knowledge store cannot be opened, read or written
    │   │   └── AttemptLost         a run goes on elsewhere; what this attempt of it did is not kept
    │   ├── Busy                    the server takes no further run for the moment
    │   └── SearchError             a web search engine, or a page of its results, cannot be had
    ├── TooManyEvents               a run made more events than may be kept of one
    ├── RunGivenUp                  a run whose process ended each time that it went on
    └── InputError                  the user's input is unusable
        ├── DocumentError           a document cannot be read
        ├── ImageError              an image cannot be used
        ├── UnknownRun              a run that is not kept
        ├── UnknownNameError        a distortion, tool or option that nobody knows (also a ValueError)
        │   └── UnknownWorkflow     a workflow that is not served
        └── PlannerError            no valid plan could be made from the query

Reaching a bound is an outcome, not an exception: it is in the final state as ``stop_reason`` and raises nothing.

A message names the culprit, says what is known, and gives the fix. The command line prints the message alone, without a
traceback, and exits with 2.
"""

import difflib
from collections.abc import Iterable, Sequence
from typing import Any


class LoopwrightError(Exception):
    """The root of the tree: catch it to catch everything that Loopwright raises on purpose."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Copied and pickled without its constructor, which would make a message of the message."""
        return type(self).__new__, (type(self),), {**vars(self), "args": self.args}


class ConfigError(LoopwrightError):
    """A configuration key, value or file is wrong."""


class GraphError(LoopwrightError):
    """A graph cannot be bound, verified or loaded."""


class LoopDeclarationError(GraphError):
    """A `Loop` contradicts itself, another loop, or the graph that it is bound to.

    Attributes:
        loop: The name of the loop.
    """

    def __init__(self, loop: str, message: str) -> None:
        super().__init__(f"loop {loop!r}: {message}")
        self.loop = loop


class UnboundedCycleError(GraphError):
    """A cycle of the graph crosses no bound.

    Attributes:
        cycles: Each cycle as the names of its nodes, in order, without the repeated first one.
    """

    def __init__(self, cycles: Iterable[tuple[str, ...]], fix: str) -> None:
        self.cycles = tuple(cycles)
        shown = "; ".join(" -> ".join((*cycle, cycle[0])) for cycle in self.cycles)
        super().__init__(f"unbounded cycle: {shown}. {fix}")


class UndeclaredJumpError(GraphError):
    """A node or router went, while the graph ran, to a node that the proof did not count with.

    Attributes:
        sender: Who went there, for example ``node 'plan'``.
        target: The node.
    """

    def __init__(self, sender: str, target: str, known: Iterable[str]) -> None:
        self.sender = sender
        self.target = target
        names = list(known)
        super().__init__(
            f"{sender} went to {target!r}, which it does not declare and its source does not show: known is "
            f"{', '.join(map(repr, names)) or 'no jump at all'}. The proof rests on that. Declare it: annotate the "
            f"return type as Command[Literal[{', '.join(map(repr, [*names, target]))}]], or give destinations= to "
            "add_node (a path map to add_conditional_edges)."
        )


class UndeclaredFanOutError(GraphError):
    """More tasks were sent to a node in one run of a router or node than its declared fan-out.

    Attributes:
        sender: Who sent them.
        node: Where to.
        sent: How many.
        declared: How many are declared; 0 where the sender was not known to send there.
    """

    def __init__(self, sender: str, node: str, *, sent: int, declared: int) -> None:
        self.sender, self.node, self.sent, self.declared = sender, node, sent, declared
        if declared:
            problem = (
                f"{sender} sent {sent} tasks to {node!r} in one run, and its declared fan_out is {declared}. "
                f"Declare fan_out={{{node!r}: {sent}}} or more, or send fewer at once."
            )
        else:
            problem = (
                f"{sender} sent {sent} Send(s) to {node!r}, and the certificate does not know of it. "
                f"Make the Send in its own source, and name {node!r} among its destinations."
            )
        super().__init__(problem)


class BrokenAssumptionError(LoopwrightError):
    """A run took more supersteps than its certificate allows: something that the proof rests on does not hold.

    Attributes:
        graph: The name of the graph.
        steps: The supersteps that it ran until it was ended.
        allowed: The supersteps that the certificate allows.
        assumptions: What the certificate rests on.
    """

    def __init__(self, graph: str, steps: int, allowed: int, assumptions: Sequence[str]) -> None:
        self.graph, self.steps, self.allowed, self.assumptions = graph, steps, allowed, (*assumptions,)
        super().__init__(
            f"graph {graph!r} was ended after {steps} supersteps; its certificate allows {allowed}, so one of its "
            f"assumptions does not hold: {'; '.join(self.assumptions)}. Let every node that returns a Command declare "
            "where it goes: add_node(..., destinations=...)."
        )


class NodeFailed(LoopwrightError):
    """A node raised an exception, which is its ``__cause__``.

    Attributes:
        node: The name of the node.
        attempt: The attempt that failed, from 1.
        snapshot: The node's input, redacted and truncated.
        told: The message without the input, for those who were never shown the state.
    """

    def __init__(self, node: str, message: str, *, attempt: int = 1, snapshot: str = "") -> None:
        self.told = f"node {node!r} failed on attempt {attempt}: {message.rstrip('.')}"
        super().__init__(f"{self.told}; its input was {snapshot}" if snapshot else self.told)
        self.node = node
        self.attempt = attempt
        self.snapshot = snapshot


class NodeTimeout(NodeFailed, TimeoutError):
    """A node took longer than its timeout.

    Attributes:
        seconds: The timeout.
    """

    def __init__(self, node: str, seconds: float, *, attempt: int = 1, snapshot: str = "") -> None:
        super().__init__(node, f"no result within its timeout of {seconds:g} s", attempt=attempt, snapshot=snapshot)
        self.seconds = seconds


class CheckpointError(LoopwrightError):
    """A checkpoint cannot be read, written or resumed."""


class GraphChanged(CheckpointError):
    """A checkpoint was written by a graph of another structure.

    Attributes:
        written: The hash of that graph's structure.
    """

    def __init__(self, message: str, written: str) -> None:
        super().__init__(message)
        self.written = written


class ModelError(LoopwrightError):
    """A chat model is unknown, unreachable, or answers badly."""


class StructuredReplyError(ModelError):
    """A model's reply still breaks its schema after the repairs that were allowed.

    Attributes:
        node: The node that asked, if it said so.
        schema: The name of the schema.
        reply: The last reply, truncated.
    """

    def __init__(self, schema: str, reply: str, problem: str, repairs: int, *, node: str | None = None) -> None:
        asked = f"node {node!r}: " if node else ""
        super().__init__(
            f"{asked}the model's reply is not a valid {schema} after {repairs} repair(s): {problem}. "
            f"It replied {reply[:200]!r}. Try a larger model, or allow more repairs."
        )
        self.node = node
        self.schema = schema
        self.reply = reply[:2000]


class WeightsError(ModelError):
    """An embedded model's files are missing, damaged, or not the expected ones."""


class BackendError(LoopwrightError):
    """Something that answers are looked up in failed: that is an error, and never "nothing found".

    Attributes:
        transient: Whether another attempt could succeed.
    """

    def __init__(self, message: str, *, transient: bool = False) -> None:
        super().__init__(message)
        self.transient = transient


class StoreError(BackendError):
    """A knowledge store cannot be opened, read or written."""


class AttemptLost(StoreError):
    """A later attempt of a run began, in this process or another: nothing more is kept of an earlier one.

    Attributes:
        run: The run.
    """

    def __init__(self, run: str, epoch: int, newest: int) -> None:
        super().__init__(
            f"run {run!r} was given up here: this was attempt {epoch + 1}, and attempt {newest + 1} began elsewhere"
        )
        self.run = run


class RunGivenUp(LoopwrightError):
    """A run whose process ended each time that it went on: it may be what ends them."""


class Busy(BackendError):
    """No further run can be taken for the moment; another attempt can succeed."""

    def __init__(self, message: str) -> None:
        super().__init__(message, transient=True)


class SearchError(BackendError):
    """A web search engine, or a page of its results, cannot be had."""


class TooManyEvents(LoopwrightError):
    """A run made more events than may be kept of one."""


class InputError(LoopwrightError):
    """The user's input is unusable."""


class UnknownRun(InputError):
    """A run that is not kept."""

    def __init__(self, run: str) -> None:
        super().__init__(f"there is no run {run[:80]!r}: it never began here, or it was deleted")


class DocumentError(InputError):
    """A document cannot be read: damaged, encrypted, too large, or of no known kind.

    Attributes:
        source: The document.
    """

    def __init__(self, source: str, problem: str) -> None:
        super().__init__(f"{source}: {problem}")
        self.source = source


class ImageError(InputError):
    """An image cannot be used: missing, not an image, broken, too large, or of the wrong size."""


class UnknownNameError(InputError, ValueError):
    """A name that nobody knows; a ValueError too, so that pydantic reports it like any other wrong value.

    Attributes:
        kind: What the name should have been, for example ``"tool"``.
        name: The name as given.
        known: The names that are known.
    """

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        self.kind = kind
        self.name = name
        self.known = tuple(known)
        super().__init__(unknown_name_message(kind, name, self.known))


class UnknownWorkflow(UnknownNameError):
    """A workflow that is not served."""


class PlannerError(InputError):
    """No valid plan could be made from the query."""


def own_words(message: str) -> str:
    """What a validator said, without the words that pydantic puts before it."""
    return message.removeprefix("Value error, ").removeprefix("Assertion failed, ")


def unknown_name_message(kind: str, name: object, known: Iterable[str]) -> str:
    """Say in one line that a name is unknown, which one was probably meant, and which there are.

    Args:
        kind: What the name should have been, for example ``"configuration key"``.
        name: The name as given.
        known: The names that are known.
    """
    return f"unknown {kind} {name!r}.{nearest(name, known)} Known: {', '.join(sorted(known)) or 'none'}."


def nearest(name: object, known: Iterable[str]) -> str:
    """The question which known name was probably meant, after a space; empty if none is near."""
    near = difflib.get_close_matches(str(name), sorted(known), n=1, cutoff=0.5)
    return f" Did you mean {near[0]!r}?" if near else ""
