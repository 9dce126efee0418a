"""The chat model inside the process: llama.cpp itself, on a model with random weights that is written here."""

import asyncio
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Literal

import pytest
from installed import needs
from pydantic import BaseModel, Field
from tiny_chat import write_tiny_chat

from loopwright.engine.nodes.failures import failure_kind
from loopwright.engine.nodes.timeout import OutOfTime, in_thread
from loopwright.errors import ModelError, StructuredReplyError
from loopwright.models import ModelRegistry, UsageRecorder, allow_model_requests, ask
from loopwright.models.embedded import llama
from loopwright.models.local import LocalChatModel

needs("xllamacpp")

pytestmark = pytest.mark.timeout(60)


class Route(BaseModel):
    """Where a question goes."""

    tool: Literal["calculator", "web", "documents"]


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> Path:
    return write_tiny_chat(tmp_path_factory.mktemp("local") / "tiny.gguf")


@pytest.fixture
def model(file: Path) -> LocalChatModel:
    return LocalChatModel(model=str(file), context=2048, max_tokens=200)


def error_of(name: str, **fields) -> str:
    with allow_model_requests(), pytest.raises(ModelError) as caught:
        ModelRegistry({"default": {"model": f"local:{name}", **fields}}).chat("default")
    return str(caught.value)


def ends_soon(model: LocalChatModel) -> None:
    """A question of one token is answered soon, the wait for what still runs included."""
    start = time.monotonic()
    model.invoke("x", max_tokens=1)
    assert time.monotonic() - start < 3


def test_a_node_has_a_structured_reply_whose_tokens_are_counted(file: Path) -> None:
    spec = {"model": f"local:{file}", "max_tokens": 300, "options": {"context": 2048}}
    usage = UsageRecorder()
    with allow_model_requests():
        model = ModelRegistry({"default": spec}).chat("router")
        # Random weights know no question: only the grammar can make this a route.
        replies = [ask(model, f"question {number}", Route, repairs=0, usage=usage) for number in range(3)]
    assert all(isinstance(reply, Route) for reply in replies)
    total = usage.total()
    assert (total.calls, total.unmetered_calls) == (3, 0)
    assert total.input_tokens > 3 * 20 and 3 * 10 < total.output_tokens <= 900


def test_a_structured_reply_that_is_cut_off_is_a_bad_reply_and_is_counted(model: LocalChatModel) -> None:
    class Long(BaseModel):
        words: list[str] = Field(min_length=80)

    usage = UsageRecorder()
    with pytest.raises(StructuredReplyError, match="the reply was cut off by a limit of tokens"):
        ask(model, "x", Long, repairs=1, usage=usage)
    total = usage.total()
    assert (total.calls, total.unmetered_calls, total.failed_calls) == (2, 0, 0)
    assert total.input_tokens > 40 and 2 < total.output_tokens <= 2 * 200


@pytest.fixture
def slow(monkeypatch, model: LocalChatModel) -> LocalChatModel:
    """The model with 20 ms between its tokens, so that a reply takes 20 s unless something stops it."""
    whole = llama.complete

    def slowly(opening, request, take):
        def one(chunk):
            time.sleep(0.02 if request["max_tokens"] > 1 else 0)
            return take(chunk)

        whole(opening, request, one)

    monkeypatch.setattr("loopwright.models.local.complete", slowly)
    return model.model_copy(update={"max_tokens": 1000})


def test_a_timeout_and_a_node_that_is_given_up_stop_the_generation(slow: LocalChatModel) -> None:
    with pytest.raises(TimeoutError, match=r"no reply within 0\.3 s") as caught:
        slow.model_copy(update={"timeout": 0.3}).invoke("x")
    assert failure_kind(caught.value) == "timeout"
    ends_soon(slow)
    with pytest.raises(OutOfTime):
        in_thread(lambda: slow.invoke("x"), 0.3)
    ends_soon(slow)


async def test_a_cancelled_task_holds_up_nobody_while_prompts_are_read(model: LocalChatModel, monkeypatch) -> None:
    begun, turn = [], threading.Lock()

    def read(asked, on_chunk):  # the tiny model reads a prompt in no time
        begun.append(asked["messages"][0]["content"])
        for _ in range(300):
            if on_chunk({"choices": [], "prompt_progress": {}}):
                break
            time.sleep(0.01)

    async def left_after(seconds: float, prompt: str) -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(model.ainvoke(prompt), seconds)

    opening = llama.Opening(llama.find_file(model.model), model.context, None)
    monkeypatch.setitem(llama._opened, opening, (SimpleNamespace(handle_chat_completions=read), turn))
    with turn:
        await left_after(0.2, "waits")
    await left_after(0.2, "is read")
    await left_after(0.5, "is next")
    assert begun == ["is read", "is next"]


def test_a_process_ends_while_a_reply_is_generated(file: Path) -> None:
    code = (
        "import sys; from loopwright.models.local import LocalChatModel\n"
        "stream = LocalChatModel(model=sys.argv[1], context=2048, max_tokens=2000).stream('x'); next(stream); print('on')"
    )
    command = [sys.executable, "-c", code, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)
    assert (done.returncode, done.stdout) == (0, "on\n"), done.stderr


def test_what_is_wrong_is_said_with_the_fix(file: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("LOOPWRIGHT_MODELS", str(tmp_path))
    assert "Did you mean 'qwen2.5-coder-1.5b-instruct'" in error_of("qwen2.5-coder-1.5b")
    assert "loopwright models pull qwen2.5-coder-0.5b-instruct" in error_of("qwen2.5-coder-0.5b-instruct")
    assert "there is no file" in error_of(str(tmp_path / "none.gguf"))
    assert "no setting 'base_url'" in error_of(str(file), base_url="http://127.0.0.1:1/v1")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert "pip install 'loopwright[local]'" in error_of(str(file))


def test_a_file_that_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "broken.gguf").write_bytes(b"GGUF" + b"\1" * 1000)
    with pytest.raises(ModelError, match=r"cannot load .*broken\.gguf"):
        LocalChatModel(model=str(tmp_path / "broken.gguf")).invoke("x")


def test_a_prompt_longer_than_the_context(file: Path) -> None:
    with pytest.raises(ModelError, match=r"the prompt has 12,\d+ tokens.*context of 512") as caught:
        LocalChatModel(model=str(file), context=512).invoke("long " * 1800)
    assert failure_kind(caught.value) == "context_length"
