"""A chat model that replies from a script and remembers what it was asked."""

import asyncio
import json
import re
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_json_schema, convert_to_openai_tool
from pydantic import BaseModel, PrivateAttr

from loopwright.errors import ModelError
from loopwright.models.conversation import parsed

Fixed: TypeAlias = str | Mapping[str, Any] | AIMessage | BaseModel | BaseException | type[BaseException]
"""A reply that is known beforehand: text, an object (sent as JSON), a message, or an exception to raise."""

Reply: TypeAlias = Fixed | Callable[[list[BaseMessage]], Fixed]
"""One entry of a script: a fixed reply, or a function of the messages that gives one."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a `ScriptedChatModel`, as it was received."""

    messages: tuple[BaseMessage, ...]
    """Copies of the messages; later changes of the originals do not show."""
    kwargs: dict[str, Any]
    """Everything else: ``stop``, ``tools``, ``tool_choice``, ``response_format`` and what else was bound or given."""

    @property
    def text(self) -> str:
        """The text of the last message."""
        return str(self.messages[-1].text) if self.messages else ""

    @property
    def tools(self) -> list[str]:
        """The names of the tools that the model could use."""
        tools: list[dict[str, Any]] = self.kwargs.get("tools", [])  # a provider's own may have no name but their type
        return [tool.get("function", tool).get("name") or str(tool.get("type")) for tool in tools]


class ScriptedChatModel(BaseChatModel):
    """Replies in the order of a script, and records every call.

    It works wherever a LangChain chat model does: sync, async, streamed, with images, tools and structured output.
    There it claims to enforce JSON schemas, and sends the script's next reply whatever the schema says. Calls from
    several threads each get their own reply, in the order of arrival.

    Example:
        >>> model = ScriptedChatModel("no", {"answer": 42})
        >>> model.invoke("first?").text, model.invoke("second?").text
        ('no', '{"answer": 42}')
        >>> [call.text for call in model.calls]
        ['first?', 'second?']
    """

    model_name: str = "scripted"
    """The name that it reports."""
    repeat_last: bool = False
    """Whether the last reply is given again and again; else a call beyond the script raises."""
    delay: float = 0.0
    """Seconds that each call takes."""
    report_usage: bool = True
    """Whether replies carry ``usage_metadata``: a token is a word. False plays a provider that does not count."""

    _script: Sequence[Reply] = PrivateAttr(default=())
    _calls: list[Call] = PrivateAttr(default_factory=list[Call])
    _lock: threading.Lock = PrivateAttr(default_factory=threading.Lock)

    def __init__(self, *script: Reply | list[Reply], **settings: Any) -> None:
        """Write the script.

        Args:
            script: The replies in order, or one list of them.
            settings: `model_name`, `repeat_last`, `delay`, `report_usage`, and the fields of LangChain's base class.
        """
        settings.setdefault("profile", {"image_inputs": True, "structured_output": True})
        super().__init__(**settings)
        self._script = [reply for part in script for reply in (part if isinstance(part, list) else [part])]

    @property
    def calls(self) -> list[Call]:
        """Every call so far in order, those that raised too."""
        with self._lock:
            return list(self._calls)

    @property
    def remaining(self) -> int:
        """How many replies of the script were not used yet."""
        return max(0, len(self._script) - len(self.calls))

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(
        self, tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool], *,
        tool_choice: str | None = None, **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:  # fmt: skip
        """Offer tools. They, and all else that is given, are recorded; whether one is called is written in the script.

        The model with these tools shares the script and the calls.
        """
        if tool_choice is not None:
            kwargs["tool_choice"] = tool_choice
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    def with_structured_output(
        self, schema: dict[str, Any] | type, *, include_raw: bool = False, **kwargs: Any
    ) -> Runnable[LanguageModelInput, Any]:
        """Parse the replies as JSON of a pydantic class, a ``TypedDict``, or a JSON schema.

        With ``include_raw`` it gives a dict of ``raw``, ``parsed`` and ``parsing_error`` instead of raising. ``method``
        and ``strict`` are as with real models, and recorded.
        """
        wire = convert_to_json_schema(schema) if isinstance(schema, type) else schema
        if isinstance(schema, type) and issubclass(schema, BaseModel):
            wire = schema.model_json_schema()
        model = self.bind(response_format={"type": "json_schema", "json_schema": {"schema": wire, **kwargs}})
        return parsed(model, schema, include_raw=include_raw)

    def _generate(
        self, messages: list[BaseMessage], stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None, **kwargs: Any,
    ) -> ChatResult:  # fmt: skip
        reply = self._next(messages, stop, kwargs)
        time.sleep(self.delay)
        return ChatResult(generations=[ChatGeneration(message=self._message(reply, messages))])

    async def _agenerate(
        self, messages: list[BaseMessage], stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None, **kwargs: Any,
    ) -> ChatResult:  # fmt: skip
        reply = self._next(messages, stop, kwargs)
        await asyncio.sleep(self.delay)
        return ChatResult(generations=[ChatGeneration(message=self._message(reply, messages))])

    def _stream(
        self, messages: list[BaseMessage], stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None, **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:  # fmt: skip
        reply = self._next(messages, stop, kwargs)
        time.sleep(self.delay)
        for chunk in _chunks(self._message(reply, messages)):
            if run_manager:
                run_manager.on_llm_new_token(str(chunk.text), chunk=chunk)
            yield chunk

    async def _astream(
        self, messages: list[BaseMessage], stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None, **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:  # fmt: skip
        reply = self._next(messages, stop, kwargs)
        await asyncio.sleep(self.delay)
        for chunk in _chunks(self._message(reply, messages)):
            if run_manager:
                await run_manager.on_llm_new_token(str(chunk.text), chunk=chunk)
            yield chunk

    def _next(self, messages: list[BaseMessage], stop: list[str] | None, kwargs: dict[str, Any]) -> Reply:
        """Record the call and take its reply from the script, in one step even among threads."""
        recorded = {**kwargs, "stop": stop} if stop else dict(kwargs)
        call = Call(tuple(message.model_copy(deep=True) for message in messages), recorded)
        with self._lock:
            position = len(self._calls)
            self._calls.append(call)
        if position >= len(self._script):
            if not (self.repeat_last and self._script):
                raise ModelError(
                    f"{self.model_name!r} has a script of {len(self._script)} reply(s), and this is call "
                    f"{position + 1}: {call.text[:200]!r}. Add a reply, or pass repeat_last=True."
                )
            position = -1
        return self._script[position]

    def _message(self, reply: Reply, messages: list[BaseMessage]) -> AIMessage:
        """Turn an entry of the script into a message, or raise it."""
        if isinstance(reply, BaseException) or (isinstance(reply, type) and issubclass(reply, BaseException)):
            raise reply
        if isinstance(reply, AIMessage):
            message = reply.model_copy(deep=True)
        elif isinstance(reply, BaseModel):
            message = AIMessage(reply.model_dump_json())
        elif isinstance(reply, str):
            message = AIMessage(reply)
        elif isinstance(reply, Mapping):
            message = AIMessage(json.dumps(dict(reply), ensure_ascii=False))
        elif callable(reply):
            return self._message(cast("Callable[[list[BaseMessage]], Fixed]", reply)(messages), messages)
        else:
            raise ModelError(f"{self.model_name!r} has {reply!r} in its script, which is no `loopwright.testing.Reply`")
        if self.report_usage and message.usage_metadata is None:
            message.usage_metadata = _count(messages, message)
        message.response_metadata = {"model_name": self.model_name, **message.response_metadata}
        return message


def always(reply: Reply, **settings: Any) -> ScriptedChatModel:
    """A `ScriptedChatModel` that gives the same reply to everything, for example a grader that always says no."""
    return ScriptedChatModel(reply, repeat_last=True, **settings)


def _count(messages: list[BaseMessage], reply: AIMessage) -> UsageMetadata:
    """Count words, also those of tool calls: no tokenizer, but the same on every machine."""
    asked = sum(len(str(message.text).split()) for message in messages)
    called = sum(len(json.dumps(call["args"]).split()) + 1 for call in reply.tool_calls)
    replied = len(str(reply.text).split()) + called
    return UsageMetadata(input_tokens=asked, output_tokens=replied, total_tokens=asked + replied)


def _chunks(message: AIMessage) -> Iterator[ChatGenerationChunk]:
    """One chunk per word, then one with everything that is not text."""
    content = message.content
    parts: list[Any] = re.findall(r"\s*\S+|\s+", content) if isinstance(content, str) else [content]
    for part in parts:
        yield ChatGenerationChunk(message=AIMessageChunk(content=part, id=message.id))
    calls: list[Any] = [{**call, "args": json.dumps(call["args"])} for call in message.tool_calls]
    calls += [call for call in message.invalid_tool_calls if call["id"]]
    last = AIMessageChunk(
        content="" if isinstance(content, str) else [],
        id=message.id,
        additional_kwargs=message.additional_kwargs,
        response_metadata=message.response_metadata,
        usage_metadata=message.usage_metadata,
        tool_call_chunks=[
            tool_call_chunk(name=call["name"], args=call["args"], id=call["id"], index=index)
            for index, call in enumerate(calls)
        ],
        chunk_position="last",
    )
    yield ChatGenerationChunk(message=last)
