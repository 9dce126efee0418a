"""One model per node: lazy, changeable, blocked when told, clear about what is wrong, silent about secrets; and its price."""

import asyncio
import pickle
import sys
import traceback
from uuid import UUID

import pytest
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from shapes import graph

from loopwright import Budget, bounded
from loopwright.errors import ConfigError, ModelError
from loopwright.models import (
    ModelRegistry,
    ModelSpec,
    Usage,
    UsageRecorder,
    allow_model_requests,
    model_requests_allowed,
)
from loopwright.models.factory import NO_KEY, secrets_of
from loopwright.models.guard import RequestGuard
from loopwright.models.prices import kept_prices
from loopwright.models.usage import counted
from loopwright.testing import ScriptedChatModel, always

SECRET = "sk-very-secret-0123456789abcdef"


@pytest.fixture
def allowed(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with allow_model_requests():
        yield


def everything_said(error: BaseException) -> str:
    """The message and the whole chain as a log would show it, and the contexts that it would suppress."""
    said = "".join(traceback.format_exception(error)) + repr(error)
    while error.__context__ is not None:
        error = error.__context__
        said += repr(error)
    return said


def test_unknown_nodes_are_refused_where_the_nodes_are_known():
    with pytest.raises(ConfigError, match=r"unknown node in the model assignments 'planer'\. Did you mean 'planner'"):
        ModelRegistry({"planer": None}, nodes=["planner", "summarizer"])
    registry = ModelRegistry({"default": None, "planner": None}, nodes=["planner"])
    for wrong in (registry.chat, lambda node: registry.assign(node, None)):
        with pytest.raises(ConfigError, match="'grader'"):
            wrong("grader")


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ("gpt-4.1-mini", "model: should be 'provider:name'"),
        ({"model": "openai:x", "timout": 5}, r"timout: Extra inputs .*Did you mean 'timeout'\? Known fields: model, "),
        ({"model": "openai:x", "temperature": -1}, "temperature: Input should be greater than or equal to 0"),
        ({"model": "openai:x", "base_url": "localhost"}, "base_url: .*should start with http"),
        ({"model": "openai:x", "base_url": f"http://me:{SECRET}@h/v1"}, "base_url: .*user name or password"),
        ({"model": "openai:x", "api_key": [SECRET]}, "api_key: Input should be a valid string"),
        ({"model": "openai:x", SECRET: 1}, "Extra inputs are not permitted"),
        ({"model": "openai:x", "api_key_env": SECRET}, "api_key_env should be the name of an environment variable"),
        ({"model": "openai:x", "options": {"temperature": 1, "top_p": 1}}, ": temperature should stand beside the opt"),
        (["openai:x", "ollama:y"], "Input should be a valid dictionary"),
        ({"model": "openai:a", "fallback": "openai:a"}, "'openai:a' is its own fallback"),
        ({"model": "openai:a", "fallback": ["openai:b", "openai:b"]}, "'openai:b' is its own fallback"),
        ({"model": "openai:a", "fallback": {"model": "openai:b", "fallback": "openai:a"}}, "is its own fallback"),
        ({"model": "openai:a", "fallback": ["gpt", 3]}, r"fallback\.0\.model: .*should be .*fallback\.1: .*dictionary"),
        ({"model": "openai:a", "fallback": {"model": "openai:b", "temp": 1}}, r"fallback\.0\.temp: Extra inputs"),
        ({"model": "openai:a", "fallback_on": ["busy"]}, r"fallback_on\.0: Input should be 'auth'"),
        ({"model": "openai:a", "fallback": {"model": "openai:b", "api_key": [SECRET]}}, r"fallback\.0\.api_key: "),
    ],
)
def test_wrong_specs_are_refused_at_once(spec, problem):
    with pytest.raises(ConfigError, match=f"node 'planner'.*{problem}") as caught:
        ModelRegistry({"planner": spec})
    if SECRET not in spec:
        assert SECRET not in everything_said(caught.value)


def test_secrets_are_not_shown():
    headers, other = {"default_headers": {"X-Token": SECRET}}, {"model": "openai:y", "api_key": SECRET}
    spec = ModelSpec(model="openai:x", api_key=SECRET, options=headers, fallback=other)
    registry = ModelRegistry({"planner": spec, "judge": always("x", model_name="fake")})
    for shown in (repr(spec), str(spec), repr(registry), str(spec.model_dump()), spec.model_dump_json()):
        assert SECRET not in shown
    assert registry.describe() == {"judge": "fake", "planner": "openai:x, then openai:y"}
    assert spec.model_dump()["options"] == {"default_headers": "***"}


@pytest.mark.parametrize(
    ("model", "module", "command"),
    [
        ("anthropic:claude-sonnet-4-5", "langchain_anthropic", r"pip install 'loopwright\[anthropic\]'"),
        ("google_genai:gemini-2.5-flash", "langchain_google_genai", r"pip install 'loopwright\[google\]'"),
        ("groq:llama", "langchain_groq", r"pip install 'loopwright\[chat\]' langchain-groq$"),
    ],
)
def test_missing_package_gives_the_command(monkeypatch, allowed, model, module, command):
    pytest.importorskip("langchain")
    from langchain.chat_models import base

    base._get_chat_model_creator.cache_clear()
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
    with pytest.raises(ModelError, match=f"node 'planner', model '{model}': {module} cannot.*{command}") as caught:
        ModelRegistry({"planner": model}).chat("planner")
    assert SECRET not in everything_said(caught.value)


@pytest.fixture
def openai(allowed):
    return pytest.importorskip("langchain_openai")


def test_missing_key(openai):
    for spec, said in (
        ("openai:gpt-4.1-mini", r"node 'planner', model 'openai:gpt-4\.1-mini': no API key.*OPENAI_API_KEY"),
        ({"model": "openai:a", "api_key_env": "MY_KEY"}, r"MY_KEY \(api_key_env\) is not set"),
        ({"model": "openai:a", "api_key_env": "gsk_secret"}, "the environment variable that api_key_env names is not"),
        ({"model": "openai:a", "api_key": SECRET, "fallback": "openai:b"}, "node 'planner', model 'openai:b': no API"),
    ):
        with pytest.raises(ModelError, match=said):
            ModelRegistry({"default": spec}).chat("planner")


def test_model_is_made_once_with_its_settings(openai, monkeypatch):
    monkeypatch.setenv("MY_KEY", SECRET)
    spec = {"model": "openai:gpt-4.1", "max_tokens": 100, "timeout": 3, "api_key_env": "MY_KEY", "options": {"seed": 7}}
    registry = ModelRegistry({"planner": spec})
    model = registry.chat("planner")
    assert isinstance(model, openai.ChatOpenAI)
    assert registry.chat("planner") is model
    assert (model.model_name, model.temperature, model.max_tokens, model.seed) == ("gpt-4.1", 0.0, 100, 7)
    assert (model.request_timeout, model.max_retries) == (3, 0)
    assert model.openai_api_key.get_secret_value() == SECRET
    assert SECRET not in repr(registry) + repr(model)
    registry.assign("planner", spec)
    assert registry.chat("planner") is not model


def test_own_server_is_not_sent_the_providers_key(openai, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    spec = {"model": "openai:local", "base_url": "http://127.0.0.1:9/v1"}
    model = ModelRegistry({"planner": spec}).chat("planner")
    assert model.openai_api_key.get_secret_value() == NO_KEY
    model = ModelRegistry({"planner": {**spec, "api_key_env": "OPENAI_API_KEY"}}).chat("planner")
    assert model.openai_api_key.get_secret_value() == SECRET
    # Of a provider that has no extra here, nobody knows where it finds a key.
    azure = {"model": "azure_openai:x", "base_url": "http://127.0.0.1:9/openai", "options": {"api_version": "1"}}
    with pytest.raises(ModelError, match=r"the key of azure_openai would go to http://127"):
        ModelRegistry({"planner": azure}).chat("planner")
    monkeypatch.setenv("AZURE_OPENAI_AD_TOKEN", SECRET)
    model = ModelRegistry({"planner": {**azure, "api_key": NO_KEY}}).chat("planner")
    assert model.openai_api_key.get_secret_value() == NO_KEY
    model.callbacks[-1].on_llm_error(error := ValueError(f"no {SECRET}"), run_id=None)
    assert str(error) == "no *** (model 'azure_openai:x' at http://127.0.0.1:9/openai)"
    monkeypatch.setenv("GROQ_API_KEY", SECRET)
    assert secrets_of(ModelSpec(model="groq:x")) == [SECRET]
    assert SECRET in secrets_of(ModelSpec(model="ollama:x", options={"headers": {"Authorization": f"Bearer {SECRET}"}}))


def test_a_model_that_takes_no_temperature_is_sent_none_unless_it_was_asked_for(openai, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "x")  # in no message is every x a secret
    models = {"a": "openai:o3", "b": {"model": "openai:o3", "temperature": 0}, "c": "openai:gpt-4.1"}
    assert [ModelRegistry(models).chat(node).temperature for node in "abc"] == [None, 0, 0]
    assert secrets_of(ModelSpec(model="openai:o3")) == []
    model = ModelRegistry({"a": {"model": "openai:x", "options": {"default_headers": {"X-Org": "1"}}}}).chat("a")
    assert model.default_headers == {"Connection": "close", "X-Org": "1"}


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"seed": "no number"}, "seed: Input should be a valid integer"),
        ({"reasonning_effort": "low", "parallel_tool_calls": False}, "ChatOpenAI has no setting 'reasonning_effort'"),
        ({"default_headers": {"X-Token": SECRET}, "http_client": SECRET}, "http_client|Invalid"),
        ({"openai_api_base": "http://other/v1"}, "base_url and openai_api_base are one setting"),
    ],
)
def test_bad_options_are_explained_without_secrets(openai, monkeypatch, options, problem):
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    with pytest.raises(ModelError, match=problem) as caught:
        ModelRegistry({"planner": {"model": "openai:x", "options": options}}).chat("planner")
    assert SECRET not in everything_said(caught.value)


def test_only_a_reply_that_is_not_of_the_protocol_is_the_servers_fault():
    class Own(TypeError):
        type = property(lambda self: "own")

    def _get_request_payload():
        raise KeyError("image_url")

    def reply():
        raise Own("no list")

    def loads(said="No data received from Ollama stream."):
        raise ValueError(said)

    def _create_chat_result():
        loads("odd")

    for call, servers, kind in (
        (_get_request_payload, False, None), (reply, True, "own"), (loads, True, "server_error"),
        (_create_chat_result, True, "server_error"), (lambda: loads("odd"), False, None),
    ):  # fmt: skip
        with pytest.raises((KeyError, Own, ValueError)) as caught:
            call()
        RequestGuard("m").on_llm_error(caught.value, run_id=UUID(int=0))
        assert ("is base_url right?" in str(caught.value)) is servers
        assert getattr(caught.value, "type", None) == kind


def test_a_setting_that_the_class_ignores_is_refused(allowed, monkeypatch):
    """A provider class that drops unknown settings silently, as some do."""
    pytest.importorskip("langchain")
    from langchain.chat_models import base

    class Deaf(type(always("x"))):
        def __init__(self, **kwargs):
            super().__init__("x", **kwargs)

    monkeypatch.setitem(base._BUILTIN_PROVIDERS, "deaf", ("langchain_deaf", "Deaf", base._call))
    monkeypatch.setitem(sys.modules, "langchain_deaf", type(sys)("langchain_deaf"))
    sys.modules["langchain_deaf"].Deaf = Deaf
    registry = ModelRegistry({"a": {"model": "deaf:m", "temperature": None}, "b": "deaf:m"})
    assert registry.chat("a").invoke("q").text == "x"
    with pytest.raises(ModelError, match=r"Deaf has no setting 'temperature'\. Known: .*model_name"):
        registry.chat("b")


def test_tests_are_blocked_from_the_start():
    assert not model_requests_allowed()
    with pytest.raises(ModelError, match=r"node 'planner', model 'openai:x' was about to be made, but .* blocked"):
        ModelRegistry({"planner": {"model": "openai:x", "api_key": "k"}}).chat("planner")
    assert ModelRegistry({"planner": always("fine")}).chat("planner").invoke("q").text == "fine"


async def test_a_model_made_before_is_blocked_too(openai):
    spec = {"model": "openai:x", "base_url": "http://127.0.0.1:9/v1", "api_key": SECRET}
    model = ModelRegistry({"planner": spec}).chat("planner")
    verdict = {"title": "Verdict", "type": "object", "properties": {}}
    with allow_model_requests(False):
        for way in model, model.bind(stop=["x"]), model.bind_tools([]), model.with_structured_output(verdict):
            with pytest.raises(ModelError, match="model 'openai:x' was about to be called, but"):
                way.invoke("q")
            with pytest.raises(ModelError, match="was about to be called"):
                await way.ainvoke("q")
            with pytest.raises(ModelError, match="was about to be called"):
                list(way.stream("q"))
            with pytest.raises(ModelError, match="was about to be called"):
                [chunk async for chunk in way.astream("q")]


def test_a_model_is_pickled_where_its_class_can_be():
    pytest.importorskip("langchain_anthropic")
    with allow_model_requests():
        chat = ModelRegistry({"n": {"model": "anthropic:x", "api_key": "k"}}).chat("n")
    assert type(pickle.loads(pickle.dumps(chat))) is type(chat)


def test_kept_prices_and_those_of_several_calls_which_are_those_of_short_prompts() -> None:
    """Together the calls are longer than what a provider charges the higher price for; none of them is."""
    pytest.importorskip("genai_prices")
    million = Usage(calls=1, input_tokens=1_000_000, output_tokens=500_000)
    assert kept_prices()("gpt-4.1-mini", Usage(calls=1, input_tokens=1_000_000, output_tokens=0)) > 0
    assert kept_prices()("no-such-model", million) is None
    assert kept_prices()("openai/gpt-4.1-mini", million) == kept_prices("openai")("gpt-4.1-mini", million)
    assert kept_prices()("openai/gpt-oss-20b", million) == kept_prices("openrouter")("openai/gpt-oss-20b", million)
    with pytest.raises(ModelError, match=r"unknown provider of prices 'openal'\. Did you mean 'openai'\? Known: a"):
        kept_prices("openal")
    prices = kept_prices("google")
    short = prices("gemini-2.5-pro", Usage(calls=1, input_tokens=100_000, output_tokens=10))
    many = prices("gemini-2.5-pro", Usage(calls=10, input_tokens=1_000_000, output_tokens=100))
    long = prices("gemini-2.5-pro", Usage(calls=1, input_tokens=1_000_000, output_tokens=100))
    assert many == pytest.approx(10 * short)
    assert long > many


def reply(tokens_in: int, tokens_out: int) -> AIMessage:
    usage = {"input_tokens": tokens_in, "output_tokens": tokens_out, "total_tokens": tokens_in + tokens_out}
    return AIMessage("x", usage_metadata=usage)


def test_cost():
    prices, asked = {"big": 0.01, "free": 0.0}, []

    def price(model, usage):
        asked.append((model, usage.total_tokens))
        return prices[model] * usage.total_tokens if model in prices else None

    recorder = UsageRecorder(price)

    def ask(model, *replies, node=None):
        with counted(node, None):
            recorder.on_llm_start({"name": model}, [], run_id=UUID(int=1))
        said = [ChatGeneration(message=each) for each in replies]
        recorder.on_llm_end(LLMResult(generations=[said]), run_id=UUID(int=1))

    assert recorder.cost() == 0.0
    ask("big", reply(60, 40), node="a")
    ask("big", reply(10, 0), node="b")
    ask("free", reply(10, 0), node="b")
    assert recorder.cost() == pytest.approx(1.1)
    assert asked == [("big", 100), ("big", 10), ("free", 10)]
    ask("unheard of", reply(1, 1))
    assert recorder.cost() is None
    assert UsageRecorder().cost() is None
    ask("")
    assert recorder.entries()[None, "unknown"] == Usage(calls=1, unmetered_calls=1), "a reply without any choice"


@pytest.mark.parametrize("outer", [False, True], ids=["of a call", "of the run"])
async def test_a_refused_call_is_not_counted_and_a_cancelled_one_failed(outer):
    usage, slow = UsageRecorder(), ScriptedChatModel("x", delay=9)
    told = {"callbacks": [usage]}

    async def twice(_state):
        for _ in range(2):
            await always("x").ainvoke("q", None if outer else told)
        return {}

    app = bounded(graph("START-ask ask-END", ask=twice), budget=Budget(model_calls=1))
    assert (await app.ainvoke({}, told if outer else None))["stop_reason"]
    assert (usage.total().calls, usage.total().failed_calls) == (1, 0)
    waiting = asyncio.create_task(slow.ainvoke("q", told))
    while not slow.calls:
        await asyncio.sleep(0.001)
    waiting.cancel()
    await asyncio.wait([waiting])
    assert (usage.total().calls, usage.total().failed_calls) == (2, 1)
