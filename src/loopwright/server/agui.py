"""AG-UI: a run as the events that its front ends read, by the package ``ag-ui-protocol``."""

import json
import re
from collections.abc import AsyncGenerator, Awaitable, Iterable, Iterator, Mapping
from typing import Any

from ag_ui import core
from ag_ui.encoder import EventEncoder
from fastapi.sse import KEEPALIVE_COMMENT
from pydantic import ValidationError

from loopwright.errors import InputError
from loopwright.models.validation import problem_lines
from loopwright.runs.hub import QUESTION
from loopwright.runs.schemas import RunRecord
from loopwright.server.agent_api.streaming import Messages
from loopwright.server.agent_api.threads import Order, Threads, Turn
from loopwright.server.answering import end_of
from loopwright.server.context import Context
from loopwright.server.sse import followed
from loopwright.workflows.api import MULTILINE, Workflow

Begun = Awaitable[tuple[RunRecord, int]]
"""A run that begins, and how many events it had before."""


def begun(threads: Threads, hosted: Workflow[Any], body: bytes) -> tuple[core.RunAgentInput, Begun]:
    """Begin the run that a front end asks for, or go on with the one whose question it answers.

    The last words of the person are the text that the workflow asks for first; the object in ``forwardedProps`` has its
    other inputs.

    Raises:
        InputError: If the request is none of AG-UI's, or has nothing to run.
    """
    try:
        asked = core.RunAgentInput.model_validate_json(body)
        turn = _turn(asked, hosted)
    except ValidationError as error:
        raise InputError(f"the body is no RunAgentInput of AG-UI that is taken: {problem_lines(error)[0]}") from None
    return asked, threads.run(asked.thread_id, hosted.name, turn)


def _turn(asked: core.RunAgentInput, hosted: Workflow[Any]) -> Turn:
    if asked.resume:
        if any(entry.status != "resolved" for entry in asked.resume):
            raise InputError("a question can only be answered here: cancel the run instead")
        answers = {entry.interrupt_id: entry.payload for entry in asked.resume}
        if unknown := [each for each in answers if not QUESTION.fullmatch(each)]:
            raise InputError(f"there is no question {unknown[0][:80]!r}")
        return Turn(command=Order(resume=answers))
    given: dict[str, Any] = dict(asked.forwarded_props) if isinstance(asked.forwarded_props, Mapping) else {}
    said = [message for message in asked.messages if message.role == "user"]
    if said and (field := _text_field(hosted)):
        given.setdefault(field, _text(said[-1].content))
    return Turn(input=given)


def _text_field(hosted: Workflow[Any]) -> str | None:
    """The input that takes what a person says."""
    fields: dict[str, dict[str, Any]] = hosted.input_schema["properties"]
    several_lines = [name for name, field in fields.items() if field.get("format") == MULTILINE]
    kinds = {name: (field, *field.get("anyOf", ())) for name, field in fields.items()}
    texts = [name for name, of_it in kinds.items() if any(kind.get("type") == "string" for kind in of_it)]
    return next(iter([*several_lines, *texts]), None)


def _text(content: Any) -> str:
    parts = [content] if isinstance(content, str) else [getattr(part, "text", None) for part in content or ()]
    if None in parts:
        raise InputError("messages are taken as text here, without pictures and files")
    return "\n".join(part for part in parts if part)


async def frames(context: Context, asked: core.RunAgentInput, record: RunRecord, after: int) -> AsyncGenerator[bytes]:
    """What happens in a run, until it ends.

    Args:
        context: Knows the runs.
        asked: What the front end asked for.
        record: The run.
        after: The number of the last event that belongs to an earlier part of the run.
    """
    encoder, told = EventEncoder(), _Told(record.id)

    def encoded(event: core.BaseEvent) -> bytes:
        return encoder.encode(event).encode()

    here = {"loopwrightRunId": record.id}
    yield encoded(core.RunStartedEvent(thread_id=asked.thread_id, run_id=asked.run_id, metadata=here))
    async for events in followed(context, record.id, "run", 0, cancel=True):  # its clients stop a run by leaving it
        for kept in events:
            for event in told.events(json.loads(kept.data), kept.seq):
                if kept.seq > after:  # what was told in an earlier part is only noted
                    yield encoded(event)
            if kept.seq == after:  # with which all ended that had begun there
                told.rest()
        if not events:
            yield KEEPALIVE_COMMENT
    last = await context.hub.known(record.id)
    for event in (*told.rest(), *told.answer(last), _end(asked, last)):
        yield encoded(event)


def failed(told: Mapping[str, str]) -> bytes:
    """What `frames` would tell of a run that could not begin."""
    return EventEncoder().encode(core.RunErrorEvent(message=told["message"], code=told["error"])).encode()


def _end(asked: core.RunAgentInput, record: RunRecord) -> core.BaseEvent:
    names: dict[str, Any] = {"thread_id": asked.thread_id, "run_id": asked.run_id}
    if record.status == "waiting":
        questions = [
            core.Interrupt(
                id=each.id, reason="interrupt", message=each.value if isinstance(each.value, str) else None,
                metadata={"node": each.node, "value": each.value},
            )
            for each in record.asked
        ]  # fmt: skip
        return core.RunFinishedEvent(**names, outcome=core.RunFinishedInterruptOutcome(interrupts=questions))
    if record.status == "cancelled":
        return core.RunFinishedEvent(**names, outcome=core.RunFinishedCancelledOutcome())
    if record.status != "finished" or record.outcome is None:
        return core.RunErrorEvent(message=end_of(record), code=record.error_type)
    result = {**record.outcome.model_dump(mode="json"), "stop_reason": record.stop_reason}
    return core.RunFinishedEvent(**names, result=result, outcome=core.RunFinishedSuccessOutcome())


class _Told:
    """What a front end knows so far."""

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self._steps: dict[str, str] = {}
        """Visit -> the name of its step, which no other one has that goes on."""
        self._messages = Messages(run_id)
        self._last = ""
        """The text of the message that ended last, of those that have one."""

    def events(self, event: Mapping[str, Any], number: int | str) -> Iterator[core.BaseEvent]:
        """What follows from an event of the run, and its number there."""
        kind = event["type"]
        yield from self._ends(self._messages.ended(event))
        if kind == "node_started":
            taken = event["node"] in self._steps.values()
            step = f"{event['node']} #{event['visit']}" if taken else str(event["node"])
            self._steps[event["task_id"]] = step
            yield core.StepStartedEvent(step_name=step)
        elif kind == "node_finished" and event["task_id"] in self._steps:
            yield core.StepFinishedEvent(step_name=self._steps.pop(event["task_id"]))
        elif kind == "text":
            message, text = self._messages.write(event, number)
            if text == event["text"]:
                yield core.TextMessageStartEvent(message_id=message, role="assistant")
            yield core.TextMessageContentEvent(message_id=message, delta=event["text"])
        elif kind == "loop":
            content = {key: event[key] for key in ("loop", "decision", "spent", "limit", "reason")}
            yield core.ActivitySnapshotEvent(
                message_id=f"{self._run_id}-loop-{event['loop']}", activity_type="loopwright.pass", content=content
            )
        elif kind in ("told", "budget"):
            yield core.CustomEvent(name=f"loopwright.{kind}", value=dict(event))

    def rest(self) -> list[core.BaseEvent]:
        """The ends of what did not end by itself."""
        steps = [core.StepFinishedEvent(step_name=self._steps.popitem()[1]) for _ in [*self._steps]]
        return [*self._ends(self._messages.rest()), *steps]

    def answer(self, record: RunRecord) -> Iterator[core.BaseEvent]:
        """The answer as a message, unless the last one ended with it already."""
        answer = record.outcome.answer if record.status == "finished" and record.outcome else ""
        if answer.strip() and not re.search(rf"(?<!\w){re.escape(answer.strip())}\Z", self._last):
            yield from self.events({"type": "text", "node": "", "text": answer}, "answer")
            yield from self.rest()

    def _ends(self, messages: Iterable[tuple[str, str]]) -> Iterator[core.BaseEvent]:
        for message, text in messages:
            self._last = text.strip() or self._last
            yield core.TextMessageEndEvent(message_id=message)
