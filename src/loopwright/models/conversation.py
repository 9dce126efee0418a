"""Structured replies: ask, validate, tell the model what was wrong, ask again, a bounded number of times; and texts."""

import json
import logging
import math
import re
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Generic, NoReturn, TypedDict, TypeVar, Unpack, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    MessageLikeRepresentation,
    SystemMessage,
    convert_to_messages,
)
from langchain_core.output_parsers import JsonOutputParser, PydanticOutputParser
from langchain_core.runnables import Runnable, RunnableParallel, RunnablePassthrough, RunnableSequence
from pydantic import BaseModel, ValidationError
from pydantic.json_schema import GenerateJsonSchema

from loopwright.errors import ConfigError, ModelError, StructuredReplyError
from loopwright.models.factory import ENDS, STRUCTURED_KEY, StreamBrokeOff
from loopwright.models.fallback import chain_of
from loopwright.models.spec import StructuredMethod
from loopwright.models.usage import UsageRecorder, counted, model_name
from loopwright.models.validation import problem_lines
from loopwright.models.vision import has_images, sees, without_images

logger = logging.getLogger(__name__)

T = TypeVar("T", bound=BaseModel)

Messages = str | Sequence[MessageLikeRepresentation]
"""One text, or messages in any form that LangChain accepts."""

_MARK = re.compile(r'[{}"]|</think>')
_REST_OF_STRING = re.compile(r'[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)

_TOO_LONG = re.compile(r"(?i)length|max_?\w*tokens|token_limit|context_window")
_WITHHELD = re.compile(
    r"(?i)abort|blocklist|error|filter|guardrail|insufficient|prohibited|recitation|refus|safety|sensitive|spii"
)

_MORE = " …"
"""The end of a text that was cut off."""

_SHOWN_BACK = 4000
"""So many characters of a bad reply are shown to the model again, to keep the prompt short."""


def json_schema_of(schema: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of a reply, with an object at its top and without the titles of the fields."""
    made = schema.model_json_schema(schema_generator=_ShortJsonSchema)
    if "$ref" in made:  # the class contains itself; clients want an object at the top
        made = {**made["$defs"][made["$ref"].rpartition("/")[2]], "$defs": made["$defs"]}
    return made


def declared_method(model: BaseChatModel) -> StructuredMethod:
    """How a model is to be asked for structured replies, as its `ModelSpec` or LangChain's profile says."""
    declared = (model.metadata or {}).get(STRUCTURED_KEY)
    if declared in ("json_schema", "prompt"):
        return declared
    return "prompt" if (model.profile or {}).get("structured_output") is False else "auto"


def enforce(model: BaseChatModel, json_schema: dict[str, Any]) -> Runnable[Any, Any] | None:
    """The model bound to the schema in the best way that its class offers, or None if it offers none."""
    # The schema goes in as a dict: given a pydantic class, some clients validate inside the call and lose the reply.
    for options in ({"method": "json_schema"}, {}):
        try:
            return _without_parser(model.with_structured_output(json_schema, include_raw=True, **options))
        except (NotImplementedError, ValueError):
            continue
    return None


def _without_parser(runnable: Runnable[Any, Any]) -> Runnable[Any, Any]:
    """The part that calls the model; all of it where it is not built in the usual way.

    LangChain's own parser mends truncated JSON, which we must not, and it takes quadratic time: 50 s of CPU were
    measured for 100,000 characters of prose.
    """
    first = runnable.first if isinstance(runnable, RunnableSequence) else None
    if isinstance(first, RunnableParallel) and set(first.steps__) == {"raw"}:
        return first.steps__["raw"]
    return runnable


def parsed(model: Runnable[Any, Any], schema: dict[str, Any] | type, *, include_raw: bool) -> Runnable[Any, Any]:
    """A model, bound to a schema, with a parser behind it, as LangChain's own classes have it.

    Of a pydantic class the reply is an object, of a `TypedDict` or a JSON schema a mapping. With ``include_raw`` the
    result is a mapping with ``raw``, ``parsed`` and ``parsing_error``; else a reply that does not fit raises.
    """
    parser: Any = JsonOutputParser()
    if isinstance(schema, type) and issubclass(schema, BaseModel):
        parser = PydanticOutputParser(pydantic_object=schema)
    if not include_raw:
        return model | parser
    read = RunnablePassthrough.assign(parsed=itemgetter("raw") | parser, parsing_error=lambda _: None)
    failed = RunnablePassthrough.assign(parsed=lambda _: None)
    return RunnableParallel(raw=model) | read.with_fallbacks([failed], exception_key="parsing_error")


def with_instruction(messages: list[BaseMessage], instruction: str) -> list[BaseMessage]:
    """Put the instruction into the one system message that every model accepts: the first."""
    if messages and isinstance(messages[0], SystemMessage):
        return [SystemMessage(f"{messages[0].text}\n\n{instruction}"), *messages[1:]]
    return [SystemMessage(instruction), *messages]


class _ShortJsonSchema(GenerateJsonSchema):
    """Leaves out the titles of the fields, which repeat their names and cost tokens."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


class Options(TypedDict, total=False):
    """How a question is asked; none needs to be given."""

    repairs: int
    """How often each model is asked again after a bad reply; 0 never, by default 2."""
    node: str | None
    """The node that asks, for usage, logs and messages."""
    usage: UsageRecorder | None
    """Counts every call, those with bad replies and those that raised or were cancelled too, as that of the workflow's
    run does in any case."""
    method: StructuredMethod | None
    """How to ask; by default what the model's `ModelSpec` declares, else ``"auto"``."""
    needs_images: bool
    """Whether the question makes no sense without its images: then models that see none are passed over."""


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """A structured reply, and what is known of how it came about."""

    reply: T
    """The validated reply."""
    notes: tuple[str, ...]
    """What the reader must know: images that were left out, and why. One sentence each, without a full stop."""


class Conversation(Generic[T]):
    """Everything of a structured question except the waiting, so that sync and async share it.

    Raises:
        ModelError: If no model of the chain can be asked in the way that the question wants.
        ConfigError: If `Options.repairs` is negative.
    """

    def __init__(self, model: BaseChatModel, messages: Messages, schema: type[T], options: Options) -> None:
        self.schema, self.options = schema, options
        self.node = options.get("node")
        self.repairs = options.get("repairs", 2)
        if self.repairs < 0:
            raise ConfigError(f"repairs is {self.repairs}; it should be 0 or more")
        self.json_schema = json_schema_of(schema)
        self.asked = convert_to_messages([messages] if isinstance(messages, str) else messages)
        self.chain = chain_of(model)
        self.position = 0
        self._begin()

    def _begin(self) -> None:
        """Begin the conversation with the model at `position`, or with the next one if that cannot see what it must."""
        self.notes: tuple[str, ...] = ()
        self.bad_replies = 0
        model = self.chain.links[self.position].model
        self.model, asked = model_name(model), self.asked
        if has_images(asked) and not sees(model):
            why = f"model {self.model!r} sees no images as far as is known (vision: true in its settings if it does)"
            if self.options.get("needs_images"):
                if self.position + 1 == len(self.chain.links):
                    raise ModelError(f"{why}, and this question is about one: configure a model that does")
                self.position += 1
                return self._begin()
            self.notes = (f"The image was not sent: {why}",)
            asked = without_images(asked, f"model {self.model!r} sees no images")
        wanted = self.options.get("method") or declared_method(model)
        enforced = None if wanted == "prompt" else enforce(model, self.json_schema)
        if enforced is None and wanted == "json_schema":
            raise ModelError(
                f"model {self.model!r}: {type(model).__name__} cannot enforce a JSON schema. Use structured: prompt."
            )
        instruction = "Reply with one JSON object that fits this JSON schema, and with nothing else:\n" + json.dumps(
            self.json_schema, ensure_ascii=False, separators=(",", ":")
        )
        self.runnable: Runnable[Any, Any] = enforced or model
        self.first = asked if enforced else with_instruction(asked, instruction)
        # A server may ignore the schema that it was sent; then the model has not seen it yet.
        self.reminder = instruction if enforced else "Reply with the corrected JSON object, and with nothing else."
        self.prompt: list[BaseMessage] = self.first

    @contextmanager
    def turn(self) -> Generator[None]:
        """Ask once; after what a fallback can do better the question goes to it, afresh and with repairs of its own."""
        with self.chain.asking(self.position, self.node), counted(self.node, self.options.get("usage")):
            yield
            return
        self.position += 1
        self._begin()

    def read(self, reply: Any) -> Answer[T] | None:
        """Validate a reply; None means that `prompt` is to be sent next."""
        message = cast("BaseMessage", reply["raw"] if isinstance(reply, dict) else reply)
        text = reply_text(message)
        try:
            return Answer(self.schema.model_validate_json(find_json_object(text)), self.notes)
        except ValidationError as error:
            problems = problem_lines(error)
        except ValueError as error:
            refusal = message.additional_kwargs.get("refusal")
            problems = [f"the model refused: {refusal}" if refusal else cut_off(message) or str(error)]
        kind, wrong = self.schema.__name__, "; ".join(problems)
        if self.bad_replies == self.repairs:
            raise StructuredReplyError(kind, text, wrong, self.repairs, node=self.node)
        self.bad_replies += 1
        told = f"the reply of {self.model} is not a valid {kind}, asking again"
        logger.info("node %r: %s (%d/%d): %s", self.node, told, self.bad_replies, self.repairs, wrong)
        self.prompt = [
            *self.first,
            AIMessage(text[:_SHOWN_BACK] or "(empty reply)"),
            HumanMessage("Your reply cannot be used:\n" + "\n".join(f"- {p}" for p in problems) + f"\n{self.reminder}"),
        ]
        return None


def ask(model: BaseChatModel, messages: Messages, schema: type[T], **options: Unpack[Options]) -> T:
    """Ask a model for a reply that fits a schema, and give it validated.

    A reply that does not fit is answered with what was wrong, and the model is asked again. What the model's client
    raises (no connection, 429, 500, a timeout, a reply cut off by the token limit) is not a reply: it is counted and
    raised unchanged, so that the node's retry policy sees it. Where that has no retry left, and the model has a
    fallback, the fallback is asked instead.

    Images in the messages are LangChain's standard blocks (``{"type": "image", "base64": ..., "mime_type": ...}``). A
    model that is not known to see any is asked without them, and reads in their place that they are missing.

    Args:
        model: The chat model.
        messages: The prompt.
        schema: The pydantic model of the reply; describe its fields, use enums for closed lists.
        **options: See `Options`.

    Raises:
        StructuredReplyError: If the last reply that was allowed does not fit either.
        ModelError: If the method is ``"json_schema"`` and the model's class does not offer it, or images are needed and
            no model sees any.
        ConfigError: If the repairs are negative.
    """
    return consult(model, messages, schema, **options).reply


def consult(model: BaseChatModel, messages: Messages, schema: type[T], **options: Unpack[Options]) -> Answer[T]:
    """Do what `ask` does, and say what the reader must know of the reply."""
    talk = Conversation(model, messages, schema, options)
    while True:
        with talk.turn():
            reply = talk.runnable.invoke(talk.prompt)
            if (answer := talk.read(reply)) is not None:
                return answer


async def aask(model: BaseChatModel, messages: Messages, schema: type[T], **options: Unpack[Options]) -> T:
    """Do what `ask` does, without blocking the event loop."""
    talk = Conversation(model, messages, schema, options)
    while True:
        with talk.turn():
            reply = await talk.runnable.ainvoke(talk.prompt)
            if (answer := talk.read(reply)) is not None:
                return answer.reply


async def awritten(
    model: BaseChatModel,
    prompt: str,
    *,
    usage: UsageRecorder | None = None,
    node: str,
    tell: Callable[[str], None] | None,
    **options: Any,
) -> str:
    """Let a model write a text, and tell each piece as it comes; a fallback takes its place unless it has begun.

    What it thought before, up to ``</think>``, is no part of it. One that was cut off ends with an ellipsis, and a
    warning says why. Each call is counted under the name of the model that was called.
    """
    chain, position = chain_of(model), 0
    while True:
        link, whole, begun, told = chain.links[position].model, AIMessageChunk(content=""), False, ""
        name = model_name(link)
        with chain.asking(position, node) as said, counted(node, usage):
            try:
                async for piece in link.astream(prompt, **options):
                    # One that does not stream gives no chunk.
                    whole, begun = whole + piece if begun else piece, True
                    said.append(bool(whole.text))
                    if tell and (text := _without_thoughts(whole.text)).startswith(told):
                        tell(text.removeprefix(told))
                        told = text
            except StreamBrokeOff:  # which is told of below
                if not whole.text:
                    raise
            text = _without_thoughts(whole.text)
            if text and "max_tokens" not in options and (why := cut_off(whole, link)):  # who gives a limit means it
                logger.warning("node %r, model %r: %s", node, name, why)
                text += _MORE
                if tell:
                    tell(_MORE)
            return text
        position += 1


def cut_off(message: BaseMessage, model: BaseChatModel | None = None) -> str | None:
    """Why a reply is not whole, by what its provider says, or leaves out where a stream ends; None for a whole one."""
    about, used = message.response_metadata, isinstance(message, AIMessage) and message.usage_metadata
    reasons = [about.get(name) for name in ENDS] + [(about.get("incomplete_details") or {}).get("reason")]
    ended = " ".join(str(reason) for reason in reasons if reason)
    if _TOO_LONG.search(ended):
        return f"the reply was cut off by a limit of tokens ({ended}): raise max_tokens"
    if _WITHHELD.search(ended):
        return f"the provider withheld the reply, or its rest ({ended})"
    tells = "model_provider" in about or STRUCTURED_KEY in ((model and model.metadata) or {})  # as providers do
    counted = used and about.get("model_provider") != "google_genai"  # which counts with each piece, others at the end
    if tells and not (ended or counted) and isinstance(message, AIMessageChunk):
        return "the stream broke off: it ended without a reason to end"
    return None


def _without_thoughts(text: str) -> str:
    """What a model wrote once it had thought; nothing while it may still be thinking."""
    thinks = "<think>".startswith(text.lstrip()[:7])
    thoughts, ended, said = text.partition("</think>")
    # Some templates begin the thought themselves; an answer may also tell of the tags, or have them in code.
    if ended and (thinks or not ("<think>" in thoughts or "`" in thoughts)):
        return said.lstrip()
    return "" if thinks else text


# One JSON object in what a model wrote


def reply_text(message: BaseMessage) -> str:
    """The reply as text: the arguments of its first tool call if it made one, else what it wrote."""
    if isinstance(message, AIMessage):
        if message.tool_calls:
            return json.dumps(message.tool_calls[0]["args"], ensure_ascii=False)
        if message.invalid_tool_calls:
            return message.invalid_tool_calls[0]["args"] or ""
    return str(message.text)


def find_json_object(text: str) -> str:
    """The first JSON object in a text: prose and code fences around it are skipped, and what a model thought.

    An object that does not end is never mended, and nothing inside of it is taken instead: a truncated reply must not
    be read as a decision. Works in linear time.

    Raises:
        ValueError: If there is none; the message tells a model what was wrong.
    """
    problem, text = "the reply contains no JSON object", text[_end_of_thoughts(text) :]
    for start, end in () if text.lstrip().startswith("<think>") else _balanced(text):
        if end is None:
            problem = "the JSON object does not end: the reply was cut off, or a brace or quote is missing"
            break
        try:
            json.loads(text[start:end], parse_constant=_refuse_constant, parse_float=_finite)
        except RecursionError:
            problem = "the JSON object is nested too deeply"
        except ValueError as error:
            problem = f"the reply is not valid JSON: {error}"
        else:
            return text[start:end]
    raise ValueError(problem)


def _end_of_thoughts(text: str) -> int:
    """Where the last ``</think>`` ends that is no part of a text in an object; 0 if there is none."""
    outside = [0]
    for start, end in _balanced(text):
        outside += [start, end] if end else []
    parts = zip(outside[::2], [*outside[1::2], len(text)], strict=True)
    found = max(text.rfind("</think>", *part) for part in parts)
    return found + len("</think>") if found >= 0 else 0


def _balanced(text: str) -> Iterator[tuple[int, int | None]]:
    """Where each outermost ``{...}`` of the text begins and ends; the last one may have no end."""
    depth = start = position = 0
    while mark := _MARK.search(text, position):
        position = mark.end()
        if mark[0] == "{":
            start = start if depth else mark.start()
            depth += 1
        elif mark[0] == "</think>":
            depth = 0  # its brace was one of a thought's
        elif depth and mark[0] == "}":
            depth -= 1
            if not depth:
                yield start, position
        elif depth:
            rest = _REST_OF_STRING.match(text, position)
            position = rest.end() if rest else len(text)
    if depth:
        yield start, None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _finite(number: str) -> float:
    value = float(number)
    if math.isinf(value):
        raise ValueError(f"{number} is too large for a number")
    return value
