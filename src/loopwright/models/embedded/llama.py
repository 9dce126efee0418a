"""llama.cpp in this process: one instance of a model, which all threads share, one after the other."""

import atexit
import os
import secrets
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_core.exceptions import ContextOverflowError

from loopwright.errors import ModelError, WeightsError, unknown_name_message
from loopwright.models.embedded.catalogue import KNOWN
from loopwright.models.embedded.resolving import resolve

_PIECE = 128
"""So many tokens of a prompt are read between two looks at whether anybody still waits: 2 to 4 s on two cores."""

_UNREADABLE = "does not match the expected"
"""What the runtime says where it cannot read a structured reply on, in place of the rest and of its figures."""


class PromptTooLong(ModelError, ContextOverflowError):
    """The prompt is longer than the context that the model was opened with."""


@dataclass(frozen=True, slots=True)
class Opening:
    """What a model is opened with: two equal ones share one instance."""

    file: Path
    """The weights, as a GGUF file."""
    context: int
    """The longest prompt and reply together, in tokens."""
    threads: int | None
    """The cores that it uses; None leaves it to llama.cpp, which takes the physical ones."""


_opened: dict[Opening, tuple[Any, threading.Lock]] = {}
_lock = threading.Lock()
_running: set[threading.Thread] = set()
_ending = threading.Event()


def find_file(name: str) -> Path:
    """The file of a chat model by its name in the catalogue, or by the path of a GGUF file of one's own.

    Raises:
        WeightsError: If the name is unknown or the file is not here; the message says how to get it.
    """
    known = [model.name for model in KNOWN.values() if model.role == "chat"]
    if name.endswith(".gguf"):
        path = Path(name).expanduser()
        if not path.is_file():
            raise WeightsError(f"there is no file {path}. Give the path of a GGUF file, or a name: {', '.join(known)}.")
        return path.resolve()
    if name not in known:
        message = unknown_name_message("local chat model", name, known)
        raise WeightsError(f"{message} A file of your own: local:/path/to/model.gguf.")
    weights = resolve(name, "chat")
    return weights.files[weights.model.files[0].name].resolve()


def complete(opening: Opening, request: Mapping[str, Any], take: Callable[[dict[str, Any]], bool]) -> None:
    """Send a chat completion in OpenAI's format, and wait until it ends.

    Args:
        opening: The model; it is loaded at its first request and then kept.
        request: What is asked.
        take: Is given an empty chunk when it is this request's turn, and then each chunk, also while the prompt is
            read; True stops the generation.

    Raises:
        PromptTooLong: If the context is too short for the prompt.
        ModelError: If the runtime refuses the request, such as a schema that it cannot enforce.
        WeightsError: If the model cannot be loaded.
    """
    server, turn = _open(opening)
    problems: list[Exception] = []
    timings: dict[str, int] = {}

    def on_chunk(chunk: dict[str, Any]) -> bool:
        try:  # what is raised here would be dropped by the runtime
            timings.update(chunk.get("timings") or {})
            if "error" in chunk:
                if timings.get("predicted_n") and _UNREADABLE in str(chunk["error"].get("message")):
                    return any([take(ended) for ended in _cut_off(timings)])
                raise _refusal(chunk["error"], opening)
            return take(chunk) or _ending.is_set()
        except Exception as problem:
            problems.append(problem)
            return True

    # Not the runtime's own queue: it reads a piece of the prompt of each request that nobody waits for any more.
    with turn:
        _running.add(threading.current_thread())
        try:
            if take({}) or _ending.is_set():
                return
            asked = {**request, "stream": True, "return_progress": True, "timings_per_token": True}
            server.handle_chat_completions({**asked, "stream_options": {"include_usage": True}}, on_chunk)
        except (RuntimeError, ValueError) as error:
            raise ModelError(
                f"{opening.file.name} cannot do what was asked: {' '.join(str(error).split())[:300]}"
            ) from None
        finally:
            _running.discard(threading.current_thread())
    if problems:
        raise problems[0]


def _cut_off(timings: Mapping[str, int]) -> list[dict[str, Any]]:
    """The end of a reply that the runtime does not read on: the chunks that it leaves out there."""
    cached, said = timings.get("cache_n", 0), timings["predicted_n"]
    prompt = timings.get("prompt_n", 0) + cached
    usage = {
        "prompt_tokens": prompt, "completion_tokens": said, "total_tokens": prompt + said,
        "prompt_tokens_details": {"cached_tokens": cached},
    }  # fmt: skip
    return [{"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]}, {"choices": [], "usage": usage}]


@atexit.register
def _end() -> None:
    """Stop what is generated: a thread within the runtime that finds no interpreter any more aborts the process."""
    _ending.set()
    for thread in [*_running]:
        thread.join(30)


def _open(opening: Opening) -> tuple[Any, threading.Lock]:
    """The model, and what a request holds while it is its turn."""
    with _lock:
        if opening not in _opened:
            _opened[opening] = _load(opening), threading.Lock()
        return _opened[opening]


def _load(opening: Opening) -> Any:
    # Threads that wait actively take the cores from each other: 1 token a second instead of 13 beside another program.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    import xllamacpp

    runtime: Any = xllamacpp  # it has no type stubs
    params = runtime.CommonParams()
    params.model.path = str(opening.file)
    params.n_ctx = opening.context
    params.n_parallel = 1
    params.n_batch = params.n_ubatch = _PIECE
    params.verbosity = -1
    # The runtime always listens too, on a free port of loopback: nobody else knows the key.
    params.hostnames, params.port, params.api_keys = ["127.0.0.1"], 0, [secrets.token_urlsafe(32)]
    if opening.threads is not None:
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = opening.threads
    try:
        return runtime.Server(params)
    except RuntimeError:
        raise WeightsError(
            f"llama.cpp cannot load {opening.file}: it is damaged, no GGUF file of a chat model, or there is too "
            f"little memory for a context of {opening.context:,} tokens. Compare its hash with 'loopwright models "
            "check', or configure a smaller context: options: {context: 2048}."
        ) from None


def _refusal(error: Mapping[str, Any], opening: Opening) -> ModelError:
    if error.get("type") == "exceed_context_size_error":
        return PromptTooLong(
            f"the prompt has {error.get('n_prompt_tokens', 0):,} tokens, and {opening.file.name} was opened with a "
            f"context of {opening.context:,}. Configure a larger one, as far as the model goes (options: {{context: "
            f"{opening.context * 4}}}), or give it less text."
        )
    return ModelError(f"{opening.file.name} refused the request: {' '.join(str(error.get('message')).split())[:300]}")
