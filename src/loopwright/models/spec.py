"""Which chat model to use and how: one validated value, without any model behind it yet."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Annotated, Any, Literal, NamedTuple, Self, get_args
from urllib.parse import urlsplit

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    SecretStr,
    ValidationError,
    field_serializer,
    field_validator,
    model_validator,
)

from loopwright.errors import ConfigError, nearest, unknown_name_message
from loopwright.models.validation import problem_lines
from loopwright.models.vision import IMAGE_SIDE

StructuredMethod = Literal["auto", "json_schema", "prompt"]
"""How a structured reply is asked for.

``json_schema``: the provider enforces the schema. ``prompt``: the schema is put into the prompt and the JSON is found
in the text. ``auto``: the provider's way where the model offers one, else the prompt.
"""


FallbackReason = Literal[
    "auth", "bad_reply", "connection", "context_length", "not_found", "quota", "rate_limit", "rejected", "server_error",
    "timeout",
]  # fmt: skip
"""Why a model is left for its fallback: a `FailureKind` of its call, or ``bad_reply``, a
structured reply that still breaks its schema after the repairs."""

FALLBACK_REASONS: tuple[FallbackReason, ...] = tuple(
    reason for reason in get_args(FallbackReason) if reason not in ("bad_reply", "rejected")
)
"""The usual ones: what another model can do better. A bad reply and a rejected request are more often our own fault."""


LOCAL = "local"
"""The provider of models that run in this process."""


class Provider(NamedTuple):
    """What we know about a provider beyond LangChain."""

    extra: str
    """The extra of this package that installs it."""
    key_env: tuple[str, ...] = ()
    """The environment variables that its client reads a key from."""
    key_late: bool = False
    """Whether its class accepts a missing key and only fails at the first request."""
    renamed: Mapping[str, str] = {}
    """Our field names that its class calls differently."""
    defaults: Mapping[str, Any] = {}
    """Options of its class that hold unless the spec sets them."""


# Their classes keep connections for the next client, also once the event loop that made them is closed.
_CLOSED = {"default_headers": {"Connection": "close"}}

PROVIDERS: Mapping[str, Provider] = {
    "anthropic": Provider("anthropic", ("ANTHROPIC_API_KEY",), key_late=True, defaults=_CLOSED),
    "google_genai": Provider("google", ("GOOGLE_API_KEY", "GEMINI_API_KEY")),
    LOCAL: Provider("local"),
    "ollama": Provider("ollama", renamed={"max_tokens": "num_predict"}),
    # Its class asks no server but OpenAI's for the tokens of a streamed reply, and budgets would count none.
    "openai": Provider("openai", ("OPENAI_API_KEY",), defaults={"stream_usage": True, **_CLOSED}),
}
"""The providers with an extra of their own. LangChain knows more, and they work too."""


class ModelSpec(BaseModel):
    """One chat model as configured. Secrets are in neither its ``repr`` nor its dump."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    model: str
    """Provider and name, for example ``"openai:gpt-4.1-mini"`` or ``"ollama:qwen2.5"``."""
    temperature: float | None = Field(default=0.0, ge=0)
    """0 for the most repeatable replies; None leaves it to the provider. Where it is not set, a model that LangChain's
    profile says takes none is sent none."""
    max_tokens: PositiveInt | None = None
    """The longest reply in tokens; None leaves it to the provider."""
    timeout: PositiveFloat | None = None
    """Seconds without a byte from the server, for a ``local:`` model of one request; None leaves it to the provider."""
    max_retries: NonNegativeInt = 0
    """Retries inside the provider's client. 0, because the node's own policy counts and reports its retries."""
    base_url: str | None = None
    """Another server that speaks the provider's protocol. It is sent a key only if one is given here."""
    api_key: SecretStr | None = None
    """The key itself. Better leave it to the provider's environment variable, or name another in `api_key_env`."""
    api_key_env: str | None = None
    """The environment variable that holds the key, read when the model is made."""
    structured: StructuredMethod = "auto"
    """How structured replies are asked for."""
    vision: bool | None = None
    """Whether it sees images. None: as LangChain's profile of the model says; one without a profile is sent none."""
    image_side: int = Field(default=IMAGE_SIDE, ge=64)
    """The longest side of an image that it is sent, in pixels; larger ones are made smaller, and it is told so."""
    fallback: Annotated[
        tuple[ModelSpec, ...],
        BeforeValidator(lambda given: given if type(given) in (list, tuple) else [] if given is None else [given]),
    ] = ()
    """What is asked in its place when it failed for good: a model as text or mapping, or a list of them in order. A
    fallback can have fallbacks, which come right after it."""
    fallback_on: tuple[FallbackReason, ...] = FALLBACK_REASONS
    """Which failures of this model make a fallback take its place."""
    options: dict[str, Any] = Field(default_factory=dict, repr=False)
    """Anything else that the provider's LangChain class takes; an option that it does not know is an error."""

    @field_validator("model")
    @classmethod
    def _has_provider(cls, value: str) -> str:
        provider, colon, name = value.replace("-", "_").lower().partition(":")  # as LangChain reads a provider
        if not (colon and provider.strip() and name.strip()):
            raise ValueError("should be 'provider:name', for example 'openai:gpt-4.1-mini' or 'ollama:qwen2.5'")
        if provider not in PROVIDERS and find_spec("langchain"):  # without which, making it says what to install
            from langchain.chat_models import base  # seconds, which few pay

            if provider not in (known := {*PROVIDERS, *getattr(base, "_BUILTIN_PROVIDERS", [provider])}):
                raise ValueError(unknown_name_message("provider", provider, known))
        return value

    @field_validator("base_url")
    @classmethod
    def _has_no_credentials(cls, value: str | None) -> str | None:
        if value is not None:
            parts = urlsplit(value)
            if parts.scheme not in ("http", "https") or not parts.netloc:
                raise ValueError("should start with http:// or https:// and name a host")
            if "@" in parts.netloc:
                raise ValueError("should not contain a user name or password; use api_key or api_key_env")
        return value

    @model_validator(mode="before")
    @classmethod
    def _of_a_name(cls, value: Any) -> Any:
        return {"model": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if self.api_key_env is not None and not self.api_key_env.isidentifier():
            raise ValueError("api_key_env should be the name of an environment variable; a key itself is for api_key")
        if repeated := self.options.keys() & type(self).model_fields.keys() - {"api_key"}:
            raise ValueError(f"{', '.join(sorted(repeated))} should stand beside the options, not among them")
        each = [(spec.model, spec.base_url, spec.api_key, spec.api_key_env) for spec in self.chain]
        if twice := [one[0] for place, one in enumerate(each) if one in each[:place]]:
            raise ValueError(f"{twice[0]!r} is its own fallback; every model should be named once")
        return self

    @field_serializer("options")
    def _mask(self, options: dict[str, Any]) -> dict[str, str]:
        return dict.fromkeys(options, "***")

    @property
    def chain(self) -> tuple[ModelSpec, ...]:
        """This model and its fallbacks, in the order in which they are asked."""
        return (self, *(spec for fallback in self.fallback for spec in fallback.chain))

    @property
    def provider(self) -> str:
        """The part before the first colon, for example ``"openai"``."""
        return self.model.partition(":")[0]

    @property
    def name(self) -> str:
        """The part after the first colon, for example ``"gpt-4.1-mini"``."""
        return self.model.partition(":")[2]


def parse_spec(value: str | Mapping[str, Any] | ModelSpec, where: str) -> ModelSpec:
    """Read one assignment of a configuration: ``"provider:name"``, or a mapping of `ModelSpec`'s fields, or a spec.

    Raises:
        ConfigError: If it is not a valid spec. The message shows no value, because one may be a secret.
    """
    problem, meant, known = "", "", ModelSpec.model_fields
    try:
        return ModelSpec.model_validate(value)
    except ValidationError as error:
        problem = "; ".join(problem_lines(error, show_input=False))
        meant = "".join(nearest(each["loc"][-1], known) for each in error.errors() if each["type"] == "extra_forbidden")
    # Raised here and not above: as a context, pydantic's error would carry the values along.
    raise ConfigError(f"{where and f'the model of {where}: '}{problem}.{meant} Known fields: {', '.join(known)}.")
