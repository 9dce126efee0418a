"""A real HTTP server on loopback that speaks the chat formats of OpenAI, Anthropic, Google and Ollama.

The replies are written by hand from the published schemas; no provider was asked. Each writer names its schema and the
date at which it was read.
"""

import base64
import json
import os
import re
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from loopback import LoopbackServer, QuietHandler, listening

DIALECTS = ("openai", "anthropic", "google_genai", "ollama")

PATHS = {
    "openai": r"/v1/chat/completions",
    "anthropic": r"/v1/messages",
    "google_genai": r"/v1(beta)?/models/[\w.-]+:generateContent",
    "ollama": r"/api/chat",
}


@dataclass(frozen=True)
class Said:
    """A reply: its text, how it ended (in OpenAI's words), and what the format has beside it."""

    text: str
    finish: str = "stop"


@dataclass(frozen=True)
class Failed:
    """An HTTP error."""

    status: int
    message: str = "played"


Played = Said | Failed

SECRET = "sk-very-secret-0123456789abcdef"
"""The key that the server is given."""

IN, OUT = 1200, 40
"""Tokens that every reply says it used."""


class ProviderServer(LoopbackServer):
    """Replies from a queue in one dialect, and keeps what it was sent."""

    def __init__(self, dialect: str) -> None:
        super().__init__(_Handler)
        self.dialect = dialect
        self.replies: deque[Played] = deque()
        self.bodies: list[dict[str, Any]] = []
        self.headers_seen: list[dict[str, str]] = []
        self.paths: list[str] = []

    @property
    def base_url(self) -> str:
        return self.url + ("/v1" if self.dialect == "openai" else "")

    def spec(self, model: str = "test-model", **more: Any) -> dict[str, Any]:
        """The server as a configuration names it, which sees images, with a key where its format has one."""
        key = {} if self.dialect == "ollama" else {"api_key": SECRET}
        given = {"model": f"{self.dialect}:{model}", "base_url": self.base_url, "timeout": 20, "vision": True}
        return given | key | more

    def images(self, call: int = 0) -> list[tuple[str | None, bytes]]:
        """The media type (which Ollama's format lacks) and the bytes of each image of a request."""
        return list(_images(self.dialect, self.bodies[call]))

    def text(self, call: int = 0) -> str:
        """Everything of a request but its images."""
        return re.sub(r"[A-Za-z0-9+/_-]{500,}={0,2}", "...", json.dumps(self.bodies[call], ensure_ascii=False))


class _Handler(QuietHandler):
    server: ProviderServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        path = self.path.partition("?")[0]
        self.server.bodies.append(body)
        self.server.paths.append(self.path)
        self.server.headers_seen.append({name.lower(): value for name, value in self.headers.items()})
        if not re.fullmatch(PATHS[self.server.dialect], path):
            self.send_json(404, {"error": f"no such path {path}"})
            return
        reply = self.server.replies.popleft() if self.server.replies else Failed(410, "the script has no more replies")
        if isinstance(reply, Failed):
            self.send_json(reply.status, _error(self.server.dialect, reply))
        else:
            lines = _WRITERS[self.server.dialect](reply, body)
            if self.server.dialect == "openai" and body.get("stream"):
                self.send_body(200, _streamed(lines[0], body), "text/event-stream")
                return
            kind = "application/x-ndjson" if self.server.dialect == "ollama" else "application/json"
            self.send_body(200, b"\n".join(json.dumps(line).encode() for line in lines), kind)


# By hand from "The chat completion object", OpenAI API reference, as of 2025-11.
def _openai(reply: Said, body: Mapping[str, Any]) -> list[dict[str, Any]]:
    message = {"role": "assistant", "content": reply.text, "refusal": None}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reply.finish}
    usage = {
        "prompt_tokens": IN, "completion_tokens": OUT, "total_tokens": IN + OUT,
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
    }  # fmt: skip
    return [{
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1_760_000_000, "model": body["model"],
        "choices": [choice], "usage": usage, "service_tier": "default", "system_fingerprint": "fp_1",
    }]  # fmt: skip


# By hand from "The chat completion chunk object", as of 2025-11: figures come last, and only to who asks for them.
def _streamed(whole: dict[str, Any], body: Mapping[str, Any]) -> bytes:
    choice, usage = whole.pop("choices")[0], whole.pop("usage")
    message, half = choice["message"], len(choice["message"]["content"]) // 2
    pieces = [{**message, "content": message["content"][:half]}, {"content": message["content"][half:]}, {}]
    chunks: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": piece, "finish_reason": None if piece else choice["finish_reason"]}]}
        for piece in pieces
    ]
    if body.get("stream_options", {}).get("include_usage"):
        chunks.append({"choices": [], "usage": usage})
    lines = [json.dumps({**whole, "object": "chat.completion.chunk", **chunk}) for chunk in chunks]
    return "".join(f"data: {line}\n\n" for line in [*lines, "[DONE]"]).encode()


# By hand from "Create a Message" of the Messages API (anthropic-version 2023-06-01), Anthropic API reference, as of
# 2025-11.
def _anthropic(reply: Said, body: Mapping[str, Any]) -> list[dict[str, Any]]:
    content: list[dict[str, Any]] = []
    reason = {"stop": "end_turn", "length": "max_tokens"}[reply.finish]
    tools, said = body.get("tools"), reply.text
    if tools and reply.finish == "stop" and said:
        reason = "tool_use"
        content = [{"type": "tool_use", "id": "toolu_1", "name": tools[0]["name"], "input": json.loads(said)}]
    elif said:
        content = [{"type": "text", "text": said}]
    return [{
        "id": "msg_1", "type": "message", "role": "assistant", "model": body["model"], "content": content,
        "stop_reason": reason, "stop_sequence": None,
        "usage": {
            "input_tokens": IN, "output_tokens": OUT, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
        },
    }]  # fmt: skip


# By hand from `GenerateContentResponse`, Gemini API reference v1beta, as of 2025-11.
def _google(reply: Said, body: Mapping[str, Any]) -> list[dict[str, Any]]:
    usage = {"promptTokenCount": IN, "candidatesTokenCount": OUT, "totalTokenCount": IN + OUT}
    about = {"usageMetadata": usage, "modelVersion": "test-model", "responseId": "r1"}
    candidate: dict[str, Any] = {"finishReason": {"stop": "STOP", "length": "MAX_TOKENS"}[reply.finish], "index": 0}
    candidate["content"] = {"parts": [{"text": reply.text}] if reply.text else [], "role": "model"}
    return [{"candidates": [candidate], **about}]


# By hand from "Generate a chat completion" in docs/api.md of Ollama, as of 2025-11 (0.12): one JSON object a line.
def _ollama(reply: Said, body: Mapping[str, Any]) -> list[dict[str, Any]]:
    said = reply.text
    about = {"model": body["model"], "created_at": "2025-11-01T12:00:00.000000Z"}
    half = len(said) // 2
    lines: list[dict[str, Any]] = [
        {**about, "message": {"role": "assistant", "content": part}, "done": False}
        for part in (said[:half], said[half:])
    ]
    last = {
        **about, "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": reply.finish,
        "total_duration": 9, "load_duration": 1, "prompt_eval_count": IN, "prompt_eval_duration": 3,
        "eval_count": OUT, "eval_duration": 5,
    }  # fmt: skip
    return [*lines, last]


_WRITERS = {"openai": _openai, "anthropic": _anthropic, "google_genai": _google, "ollama": _ollama}


# By hand from "Error codes" (OpenAI), "Errors" (Anthropic), "Status" of google.rpc (Gemini), api.md (Ollama), 2025-11.
def _error(dialect: str, reply: Failed) -> dict[str, Any]:
    if dialect == "openai":
        return {"error": {"message": reply.message, "type": "played_error", "param": None, "code": None}}
    if dialect == "anthropic":
        kinds = {
            400: "invalid_request_error",
            401: "authentication_error",
            429: "rate_limit_error",
            529: "overloaded_error",
        }
        return {"type": "error", "error": {"type": kinds.get(reply.status, "api_error"), "message": reply.message}}
    if dialect == "google_genai":
        kinds = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE"}
        return {"error": {"code": reply.status, "message": reply.message, "status": kinds.get(reply.status, "UNKNOWN")}}
    return {"error": reply.message}


def _images(dialect: str, body: Mapping[str, Any]) -> Iterator[tuple[str | None, bytes]]:
    if dialect == "google_genai":
        for content in body["contents"]:
            for part in content["parts"]:
                if data := part.get("inlineData") or part.get("inline_data"):
                    kind = data.get("mimeType") or data.get("mime_type")
                    # The client writes URL-safe base64.
                    yield kind, base64.urlsafe_b64decode(data["data"].replace("+", "-").replace("/", "_"))
        return
    for message in body["messages"]:
        for encoded in message.get("images") or ():  # Ollama
            yield None, base64.b64decode(encoded, validate=True)
        for part in message["content"] if isinstance(message["content"], list) else ():
            if part["type"] == "image_url":  # OpenAI
                kind, data = re.fullmatch(r"data:([\w/]+);base64,(.*)", part["image_url"]["url"]).groups()
                yield kind, base64.b64decode(data, validate=True)
            elif part["type"] == "image":  # Anthropic
                assert part["source"]["type"] == "base64"
                yield part["source"]["media_type"], base64.b64decode(part["source"]["data"], validate=True)


@contextmanager
def providing(dialect: str) -> Iterator[ProviderServer]:
    """A server in a thread of its own, which no proxy stands before."""
    direct = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    with patch.dict(os.environ, direct, clear=True), listening(ProviderServer(dialect)) as played:
        yield played
