"""From a `ModelSpec` to a LangChain chat model, with every failure in plain words and no secret in them."""

import os
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, partial, wraps
from inspect import signature
from typing import Any, cast

from httpx import Limits, Request
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from pydantic import AliasChoices, SecretStr, ValidationError

from loopwright.errors import ModelError
from loopwright.models.guard import RequestGuard, redact, require_model_requests, stumbles
from loopwright.models.spec import LOCAL, PROVIDERS, ModelSpec, Provider
from loopwright.models.validation import problem_lines
from loopwright.models.vision import IMAGE_SIDE_KEY, VISION_KEY

STRUCTURED_KEY = "loopwright_structured"
"""In a model's ``metadata``: the declared `StructuredMethod`."""

ENDS = ("finish_reason", "stop_reason", "stopReason", "done_reason")
"""Where LangChain's classes keep why a provider ended a reply."""

_OVER = (*ENDS, "done", "status", "prompt_feedback")
"""What they keep of a reply only where it is over."""

NO_KEY = "not-needed"
"""Sent to a ``base_url`` for which no key is configured: clients insist on one, and local servers ignore it."""


def make_chat(spec: ModelSpec, node: str) -> BaseChatModel:
    """Make the chat model that a spec describes for a node, guarded by `allow_model_requests`; nothing is sent yet.

    Raises:
        ModelError: If requests are blocked, a package or a key is missing, or provider or options are wrong.
    """
    where = f"node {node!r}, model {spec.model!r}"
    require_model_requests(f"{where} was about to be made")
    problem = ""
    try:
        arguments = _arguments(spec)
        model = _made(spec, arguments)
        _refuse_ignored(model, arguments)
    except ModelError as error:
        problem = str(error)
    except ImportError as error:
        problem = _install(spec, error)
    except Exception as error:
        problem = _explain(spec, error)
    else:
        if "temperature" not in spec.model_fields_set and (model.profile or {}).get("temperature") is False:
            cast("Any", model).temperature = None  # such models refuse any, and nobody asked for ours
        handlers = model.callbacks if isinstance(model.callbacks, list) else []
        model.callbacks = [*handlers, RequestGuard(spec.model, secrets_of(spec, model), spec.base_url)]
        tells = spec.provider in PROVIDERS
        if spec.provider == "openai":
            # Many servers of its protocol end a whole reply by its last line alone, of which its client tells nobody.
            clients = [*filter(None, (cast("Any", model).root_client, cast("Any", model).root_async_client))]
            tells = all(hasattr(client, "_make_sse_decoder") for client in clients)  # private: it may go
            for client in clients if tells else ():
                client._make_sse_decoder = partial(_listening, client._make_sse_decoder)
        model.__class__ = _that_answers(type(model), tells)
        # What the spec says of the model that its class has no setting for.
        seen = {} if spec.vision is None else {VISION_KEY: spec.vision}
        declared = {STRUCTURED_KEY: spec.structured, IMAGE_SIDE_KEY: spec.image_side, **seen}
        model.metadata = {**(model.metadata or {}), **declared}
        return model
    # Raised outside of the handlers, so that the provider's exception, which can show its input, is not even a context.
    raise ModelError(f"{where}: {problem}")


def _made(spec: ModelSpec, arguments: Mapping[str, Any]) -> BaseChatModel:
    if spec.provider == LOCAL:
        from loopwright.models.local import LocalChatModel

        return LocalChatModel(model=spec.name, **arguments)
    from langchain.chat_models import init_chat_model

    return init_chat_model(spec.name, model_provider=spec.provider, **arguments)


class StreamBrokeOff(ConnectionError):
    """A streamed reply ended as a whole one does, but without a reason to end or the line that ends a whole one."""


class _Heard:
    """What was heard of a reply while it streamed."""

    def __init__(self) -> None:
        self.begun = self.ended = self.last_line = False
        _heard.set(self)

    def hear(self, piece: ChatGenerationChunk) -> ChatGenerationChunk:
        """Hear a piece. It is the end if it has a reason to end, or, but for Google's, tokens."""
        about = {**(piece.generation_info or {}), **piece.message.response_metadata}
        counted = getattr(piece.message, "usage_metadata", None) and about.get("model_provider") != "google_genai"
        self.begun, self.ended = True, bool(self.ended or counted or any(map(about.get, _OVER)))
        return piece

    def rest(self) -> Iterator[ChatGenerationChunk]:
        """What is missing of a whole reply: a reason to end.

        Raises:
            StreamBrokeOff: If it is none.
        """
        if self.begun and not self.ended:  # of nothing at all, LangChain says so itself
            if not self.last_line:
                raise StreamBrokeOff("the stream broke off: it ended without a reason to end")
            yield ChatGenerationChunk(message=AIMessageChunk(content="", response_metadata={"finish_reason": "stop"}))


_heard: ContextVar[_Heard | None] = ContextVar("loopwright.heard", default=None)


def _listening(make: Callable[[], Any]) -> Any:
    """What reads the lines of a stream for OpenAI's client, and notes the last one of its protocol."""
    decoder, heard = make(), _heard.get()
    decode = decoder.decode

    def noted(line: str) -> Any:
        if heard and line.startswith("data:") and line[5:].strip() == "[DONE]":
            heard.last_line = True
        return decode(line)

    decoder.decode = noted
    return decoder


@cache
def _that_answers(made: type[BaseChatModel], tells: bool) -> type[BaseChatModel]:
    """A class that takes no reply without any choice for one and, if it `tells` ends, no part of a stream for all."""
    its: Any = made

    def chosen(result: ChatResult) -> ChatResult:
        if not result.generations:
            raise LookupError("it has no choices")
        return result

    @wraps(its._generate)
    def generate(*args: Any, **kwargs: Any) -> ChatResult:
        with _plainly():
            return chosen(its._generate(*args, **kwargs))

    @wraps(its._agenerate)
    async def agenerate(*args: Any, **kwargs: Any) -> ChatResult:
        with _plainly():
            return chosen(await its._agenerate(*args, **kwargs))

    @wraps(its._stream)
    def stream(*args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        heard = _Heard()
        yield from map(heard.hear, its._stream(*args, **kwargs))
        yield from heard.rest()

    @wraps(its._astream)
    async def astream(*args: Any, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        heard = _Heard()
        async for piece in its._astream(*args, **kwargs):
            yield heard.hear(piece)
        for piece in heard.rest():
            yield piece

    def reduced(self: BaseChatModel) -> Any:  # pickle would look for the class by its name
        return _blank, (made, tells), self.__getstate__()

    own = {"__module__": made.__module__, "_generate": generate, "_agenerate": agenerate, "__reduce__": reduced}
    for name, way in (("_stream", stream), ("_astream", astream)):
        if tells and getattr(made, name) is not getattr(BaseChatModel, name):  # LangChain looks who can stream
            own[name] = way
    return cast("Any", type(made))(made.__name__, (made,), own)


def _blank(made: type[BaseChatModel], tells: bool) -> BaseChatModel:
    return object.__new__(_that_answers(made, tells))


@contextmanager
def _plainly() -> Generator[None]:
    """Say what pydantic found wrong with a reply in an error whose words can be added to, as its own cannot."""
    try:
        yield
    except ValidationError as error:
        if not stumbles(error):
            raise
        raise LookupError("; ".join(problem_lines(error, show_input=False))) from error


def _arguments(spec: ModelSpec) -> dict[str, Any]:
    known = PROVIDERS.get(spec.provider) or Provider("chat")
    given = {
        name: value
        for name in ("temperature", "max_tokens", "timeout", "max_retries", "base_url")
        if (value := getattr(spec, name)) is not None
    }
    key = _key(spec)
    if spec.provider == "ollama":
        given.pop("max_retries")  # its class has none
        given.update(_ollama_clients(spec, given.pop("timeout", None), key))
        key = None
    named = {known.renamed.get(name, name): value for name, value in given.items()}
    arguments = {**known.defaults, **spec.options, **named}
    if known.defaults.get("default_headers") and isinstance(spec.options.get("default_headers"), Mapping):
        arguments["default_headers"] = {**known.defaults["default_headers"], **spec.options["default_headers"]}
    if key is not None:
        arguments["api_key"] = key
    return arguments


def _ollama_clients(spec: ModelSpec, timeout: float | None, key: SecretStr | None) -> dict[str, Any]:
    """What its class's two HTTP clients are made with: only there it takes a timeout and a key.

    Each client is sent the spec's key, or what the options say for it; to a ``base_url`` never the environment's.
    """
    clients: dict[str, dict[str, Any]] = {}
    shared = {**(spec.options.get("client_kwargs") or {}), **({} if timeout is None else {"timeout": timeout})}
    unkept = {"limits": Limits(max_keepalive_connections=0)}  # as _CLOSED
    for name, usual in (("sync_client_kwargs", {}), ("async_client_kwargs", unkept)):
        client = clients[name] = {**shared, **usual, **(spec.options.get(name) or {})}
        headers = {header.lower(): value for header, value in (client.get("headers") or {}).items()}
        said = client.get("auth") or headers.get("authorization")
        if said and key:
            raise ModelError("beside its api_key the options have an auth or Authorization: give one of them")
        if key or (spec.base_url is not None and not said):
            client["auth"] = partial(_signed, key or SecretStr(NO_KEY))
    return clients


def _signed(key: SecretStr, request: Request) -> Request:
    request.headers["Authorization"] = f"Bearer {key.get_secret_value()}"
    return request


def _key(spec: ModelSpec) -> SecretStr | None:
    """The key to hand over, or None to leave it to the provider's client."""
    if spec.api_key is not None:
        return spec.api_key
    if spec.api_key_env is not None:
        value = os.environ.get(spec.api_key_env)
        if not value:
            # What is written small may be the key itself.
            name = f"{spec.api_key_env} (api_key_env)" if spec.api_key_env.isupper() else "that api_key_env names"
            raise ModelError(f"the environment variable {name} is not set")
        return SecretStr(value)
    known = PROVIDERS.get(spec.provider)
    given = any(name.endswith(("api_key", "_token")) for name in spec.options)
    if known is None and spec.base_url is not None and not given:
        raise ModelError(  # where its class finds a key of its own is not known
            f"the key of {spec.provider} would go to {spec.base_url}. Give the key for that server in "
            f"api_key_env or api_key; where it wants none, api_key: {NO_KEY}"
        )
    if known is None or not known.key_env or "api_key" in spec.options:
        return None
    if spec.base_url is not None:
        # The provider's own key must not go to a host that somebody else runs.
        return SecretStr(NO_KEY)
    if known.key_late and not any(os.environ.get(name) for name in known.key_env):
        raise ModelError(_missing_key(known))
    return None


def _missing_key(known: Provider) -> str:
    names = " or ".join(known.key_env)
    return f"no API key. Set the environment variable {names}, or name another one in api_key_env"


def _install(spec: ModelSpec, error: ImportError) -> str:
    missing = error.name or getattr(error.__cause__, "name", None) or "a package"
    known = PROVIDERS.get(spec.provider)
    if known is not None:
        command = f"pip install 'loopwright[{known.extra}]'"
    else:
        top = missing.partition(".")[0].replace("_", "-")
        command = f"pip install 'loopwright[chat]' {top if top.startswith('langchain-') else ''}".rstrip()
    return f"{missing} cannot be imported. Install it: {command}"


def _explain(spec: ModelSpec, error: Exception) -> str:
    known = PROVIDERS.get(spec.provider)
    given = spec.api_key or spec.api_key_env or "api_key" in spec.options
    if known is not None and known.key_env and not given and not any(os.environ.get(name) for name in known.key_env):
        return _missing_key(known)
    if isinstance(error, ValidationError):
        return "; ".join(problem_lines(error, show_input=False))
    return redact(f"{type(error).__name__}: {error}", secrets_of(spec))[:300]


def _refuse_ignored(model: BaseChatModel, arguments: Mapping[str, Any]) -> None:
    """Refuse an argument that the class dropped silently: a setting must never be read and ignored."""
    # What it has no field for is sent as it is; of that OpenAI's client takes what its methods name.
    known: set[str] = {*cast("Mapping[str, Any]", getattr(model, "model_kwargs", None) or {})}
    root: Any = getattr(model, "root_client", None)
    if hasattr(root, "responses"):
        known &= {*signature(root.chat.completions.create).parameters, *signature(root.responses.create).parameters}
    for name, field in type(model).model_fields.items():
        aliases = field.validation_alias.choices if isinstance(field.validation_alias, AliasChoices) else []
        # What is not a string is a path into nested input, which no argument's name can match.
        names = {a for a in (name, field.alias, field.validation_alias, *aliases) if isinstance(a, str)}
        known |= names
        if len(same := sorted(names & {*arguments, "base_url", "model"})) > 1:
            raise ModelError(f"{' and '.join(same)} are one setting; say it once, and beside the options")
    unknown = sorted(name for name in arguments if name not in known)
    # A class that knows no retries makes none, which is what 0 asks for.
    if "max_retries" in unknown and arguments["max_retries"] == 0:
        unknown.remove("max_retries")
    if unknown:
        raise ModelError(
            f"{type(model).__name__} has no setting {', '.join(map(repr, unknown))}. "
            f"Known: {', '.join(sorted(type(model).model_fields))}."
        )


def secrets_of(spec: ModelSpec, model: BaseChatModel | None = None) -> list[str]:
    """The texts of a spec, and of the model made of it, that must not be seen in any message."""
    known = PROVIDERS.get(spec.provider)
    usual = known.key_env if known and known.key_env else (f"{spec.provider.upper()}_API_KEY",)
    values = [os.environ.get(name, "") for name in (*usual, spec.api_key_env) if name]
    values += [value.get_secret_value() for _, value in model or () if isinstance(value, SecretStr)]
    # Any long text among the options can be a token or a header; a short one would be found in ordinary words.
    texts = [*values, *_texts([spec.api_key, spec.options])]
    return [text for each in texts for text in {each, each.partition(" ")[2]} if len(text) >= 8]  # "Bearer TOKEN"


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, SecretStr):
        yield value.get_secret_value()
    elif isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for item in cast("Any", value.values() if isinstance(value, Mapping) else value):
            yield from _texts(item)
