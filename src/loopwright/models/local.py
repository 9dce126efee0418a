"""A LangChain chat model that runs in this process: ``local:NAME`` in a configuration."""

import asyncio
import importlib.util
import queue
import threading
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, cast

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.language_models.chat_models import agenerate_from_stream, generate_from_stream
from langchain_core.messages import AIMessageChunk, BaseMessage, convert_to_openai_messages
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_json_schema
from pydantic import Field, PositiveFloat, PositiveInt

from loopwright.engine.nodes.timeout import given_up
from loopwright.errors import ModelError
from loopwright.models.conversation import parsed
from loopwright.models.embedded.llama import Opening, complete, find_file

_END = None
"""What a generation delivers last."""

_LOOK = 0.2
"""Seconds between two looks at whether the node that asked was given up."""


class LocalChatModel(BaseChatModel):
    """A small chat model on this machine, run by llama.cpp; one instance serves all threads of the process.

    A call that is cancelled, out of time or given up with its node ends with the next chunk, also while others are
    answered before it or its prompt is read.

    The file must be here and the runtime installed when it is made; it is loaded at the first request.

    Raises:
        WeightsError: If the name is unknown or the file is not here.
        ModelError: If llama.cpp is not installed.
    """

    model: str
    """A name of the catalogue, or the path of a GGUF file."""
    context: int = Field(default=8192, ge=256)
    """The longest prompt and reply together, in tokens; memory grows with it."""
    threads: PositiveInt | None = None
    """The cores that it uses; None leaves it to llama.cpp."""
    temperature: float | None = 0.0
    """0 for the most repeatable replies; None for the runtime's own."""
    max_tokens: PositiveInt | None = None
    """The longest reply; None for 1,024, because a small model can go round in circles."""
    timeout: PositiveFloat | None = None
    """Seconds for one request, with its wait for others; None for no limit."""

    def model_post_init(self, context: Any, /) -> None:
        """Look for the file and the runtime, so that a wrong configuration is found before a run."""
        super().model_post_init(context)
        self._file = find_file(self.model)
        if importlib.util.find_spec("xllamacpp") is None:
            raise ModelError("xllamacpp, which runs local models, is not installed: pip install 'loopwright[local]'")
        self.profile = {"image_inputs": False, "structured_output": True, "tool_calling": False}

    @property
    def _llm_type(self) -> str:
        return "loopwright-local"

    def with_structured_output(
        self, schema: Any, *, include_raw: bool = False, method: str = "json_schema", **kwargs: Any
    ) -> Runnable[LanguageModelInput, Any]:
        """Bind a schema, a pydantic class or in JSON, which the runtime's grammar enforces token by token.

        With ``include_raw`` the result is a mapping with ``raw``, ``parsed`` and ``parsing_error``. There is no other
        method; ``strict`` is accepted, since the grammar always is.

        Raises:
            ValueError: If the method or an argument is unknown.
        """
        kwargs.pop("strict", None)
        if method != "json_schema" or kwargs:
            raise ValueError(f"a local model enforces a schema by method='json_schema'; given {method!r}, {kwargs}")
        response_format = {"type": "json_schema", "json_schema": {"schema": convert_to_json_schema(schema)}}
        return parsed(self.bind(response_format=response_format), schema, include_raw=include_raw)

    def _generate(
        self, messages: list[BaseMessage], stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None, **kwargs: Any,
    ) -> ChatResult:  # fmt: skip
        return generate_from_stream(self._stream(messages, stop, run_manager, **kwargs))

    async def _agenerate(
        self, messages: list[BaseMessage], stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None, **kwargs: Any,
    ) -> ChatResult:  # fmt: skip
        return await agenerate_from_stream(self._astream(messages, stop, run_manager, **kwargs))

    def _stream(
        self, messages: list[BaseMessage], stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None, **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:  # fmt: skip
        return self._pieces(self._get_request_payload(messages, stop, kwargs), run_manager, threading.Event())

    async def _astream(
        self, messages: list[BaseMessage], stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None, **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:  # fmt: skip
        # LangChain's own cannot tell the thread that waits for a piece that nobody waits for it any more.
        stopped, manager = threading.Event(), run_manager.get_sync() if run_manager else None
        pieces = self._pieces(self._get_request_payload(messages, stop, kwargs), manager, stopped)
        try:
            while (piece := await asyncio.to_thread(next, pieces, None)) is not None:
                yield piece
        finally:
            stopped.set()

    def _pieces(
        self, request: Mapping[str, Any], run_manager: CallbackManagerForLLMRun | None, stopped: threading.Event
    ) -> Iterator[ChatGenerationChunk]:
        """Generate in a thread, and give each piece as it comes; setting the event ends it, whoever does so."""
        arrived: queue.SimpleQueue[Any] = queue.SimpleQueue()
        abandoned = given_up.get()
        end = None if self.timeout is None else time.monotonic() + self.timeout

        def take(chunk: dict[str, Any]) -> bool:
            arrived.put(chunk)
            return stopped.is_set()

        def work() -> None:
            """Deliver each chunk, a failure, and at last `_END`."""
            try:
                complete(Opening(self._file, self.context, self.threads), request, take)
            except Exception as error:
                arrived.put(error)
            arrived.put(_END)

        threading.Thread(target=work, daemon=True, name="loopwright-local-model").start()
        try:
            while not stopped.is_set():
                wait = _LOOK if end is None else min(_LOOK, end - time.monotonic())
                if wait <= 0 or (abandoned is not None and abandoned.is_set()):
                    limit = f"there was no reply within {self.timeout:g} s" if self.timeout else "its node was given up"
                    raise TimeoutError(
                        f"local model {self.model}: {limit}, and the generation was stopped. Raise the model's timeout."
                    )
                try:
                    item = arrived.get(timeout=wait)
                except queue.Empty:
                    continue
                if item is _END:
                    return
                if (chunk := self._read(item)) is not None:
                    if run_manager is not None:
                        run_manager.on_llm_new_token(chunk.text, chunk=chunk)
                    yield chunk
        finally:
            stopped.set()

    def _get_request_payload(
        self, messages: Sequence[BaseMessage], stop: list[str] | None, given: Mapping[str, Any]
    ) -> dict[str, Any]:
        settings = {"temperature": self.temperature, "max_tokens": self.max_tokens or 1024, "stop": stop, **given}
        known = {name: value for name, value in settings.items() if value is not None}
        return {"messages": convert_to_openai_messages(messages, text_format="string"), **known}

    def _read(self, item: Any) -> ChatGenerationChunk | None:
        """A chunk of the runtime as LangChain's; None for one that only says how much of the prompt is read."""
        if isinstance(item, Exception):
            raise item
        said = cast("dict[str, Any]", item)
        if usage := said.get("usage"):
            cached = usage.get("prompt_tokens_details", {}).get("cached_tokens", 0)
            counted = UsageMetadata(
                input_tokens=usage["prompt_tokens"],
                output_tokens=usage["completion_tokens"],
                total_tokens=usage["total_tokens"],
                input_token_details={"cache_read": cached},
            )
            return ChatGenerationChunk(
                message=AIMessageChunk(content="", usage_metadata=counted, response_metadata={"model_name": self.model})
            )
        if not said.get("choices") or "prompt_progress" in said:
            return None
        choice = said["choices"][0]
        told = {"finish_reason": choice["finish_reason"]} if choice.get("finish_reason") else {}
        text = choice["delta"].get("content") or ""
        if not text and not told:
            return None
        return ChatGenerationChunk(message=AIMessageChunk(content=text, response_metadata=told))
