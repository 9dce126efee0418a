"""What models cost: a price list of your own, or the one that the package ``genai-prices`` keeps.

Both are a `loopwright.models.PriceTable`: called with a model's name and a `Usage`, they give the price, or None for a
model that they do not know.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Self, cast

import yaml
from langchain_core.messages import AIMessage, BaseMessage
from pydantic import BaseModel, ConfigDict, Field, NonNegativeFloat, ValidationError

from loopwright.engine.budget.budget import PriceTable, Usage
from loopwright.errors import ConfigError, ModelError
from loopwright.models.validation import problem_lines

MILLION = 1_000_000


class Price(BaseModel):
    """What a model costs, per million tokens."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    input: NonNegativeFloat
    """Per million tokens of the prompt."""
    output: NonNegativeFloat
    """Per million tokens of the reply."""
    cached_input: NonNegativeFloat | None = None
    """Per million tokens of the prompt that the provider had in its cache; None for the price of `input`."""

    def of(self, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> float:
        """The price of so many tokens.

        Args:
            input_tokens: Tokens of the prompt, the cached ones included.
            output_tokens: Tokens of the reply.
            cached_tokens: Tokens of the prompt that the provider had in its cache.
        """
        cached = self.input if self.cached_input is None else self.cached_input
        full = input_tokens - cached_tokens
        return (full * self.input + cached_tokens * cached + output_tokens * self.output) / MILLION


class PriceList(BaseModel):
    """Prices by model.

    Example:
        >>> prices = PriceList.load({"currency": "EUR", "models": {"gpt-4.1*": {"input": 2, "output": 8}}})
        >>> prices("gpt-4.1-mini", Usage(calls=1, input_tokens=500_000, output_tokens=250_000))
        3.0
        >>> prices("another", Usage()) is None
        True
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    currency: str = Field(default="USD", min_length=1)
    """In which all prices are, as text for people; nothing is converted."""
    models: dict[str, Price] = {}
    """Model's name, or a pattern with ``*``, ``?`` and ``[...]`` -> its price. The exact name goes first, then the
    first pattern that fits."""

    @classmethod
    def load(cls, source: str | Path | Mapping[str, Any]) -> Self:
        """Read a price list.

        Args:
            source: A YAML file, or what would be in it: ``currency`` and ``models``.

        Raises:
            ConfigError: If the file cannot be read, a key is unknown, or a price is no number from 0.
        """
        where, data = ("the price list", source) if isinstance(source, Mapping) else (str(source), _read(Path(source)))
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            raise ConfigError(
                f"{where}: {'; '.join(problem_lines(error))}. "
                f"It holds 'currency' and 'models', and for each model: {', '.join(Price.model_fields)}."
            ) from error

    def price(self, model: str) -> Price | None:
        """What a model costs.

        Args:
            model: Its name, as `loopwright.models.model_name` gives it.

        Returns:
            Its price; None if the list does not know it.
        """
        if model in self.models:
            return self.models[model]
        return next((price for pattern, price in self.models.items() if fnmatchcase(model, pattern)), None)

    def __call__(self, model: str, usage: Usage) -> float | None:
        """The price of a usage, without discounts: a `Usage` does not tell which tokens were cached.

        Args:
            model: The model's name.
            usage: What was used of it.

        Returns:
            The price in `currency`; None if the list does not know the model.
        """
        price = self.price(model)
        return None if price is None else price.of(usage.input_tokens, usage.output_tokens)

    def of_reply(self, model: str, message: BaseMessage) -> float | None:
        """The price of one reply, with the discount for the cached part of its prompt.

        Args:
            model: The model's name.
            message: The reply.

        Returns:
            The price in `currency`; None if the list does not know the model, or the reply does not tell its tokens.
        """
        price = self.price(model)
        metadata = message.usage_metadata if isinstance(message, AIMessage) else None
        if price is None or metadata is None:
            return None
        cached = metadata.get("input_token_details", {}).get("cache_read", 0)
        return price.of(metadata["input_tokens"], metadata["output_tokens"], cached)


def _read(path: Path) -> Any:
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read the price list {path}: {error.strerror or error}") from error
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigError(f"{path} is not valid YAML: {' '.join(str(error).split())}") from error


def kept_prices(provider: str | None = None) -> PriceTable:
    """The prices, in US dollars, that the package ``genai-prices`` (MIT) ships; nothing is fetched.

    A provider may charge more for long prompts. A usage of several calls is therefore priced as that many calls of the
    same length.

    Args:
        provider: Whose prices, for example ``"openai"``; None guesses from the model's name.

    Returns:
        The price table. It knows no local model.

    Raises:
        ModelError: If the package is not installed.
    """
    if importlib.util.find_spec("genai_prices") is None:
        raise ModelError("genai_prices cannot be imported. Install it: pip install 'loopwright[prices]'")

    def price(model: str, usage: Usage) -> float | None:
        # The list takes a third of a second to read: only where a model was asked.
        import genai_prices  # pyright: ignore[reportMissingImports]

        kept = cast("Any", genai_prices)
        calls = max(1, usage.calls - usage.unmetered_calls)
        tokens = kept.Usage(
            input_tokens=round(usage.input_tokens / calls), output_tokens=round(usage.output_tokens / calls)
        )
        try:
            return calls * float(kept.calc_price(tokens, model, provider_id=provider).total_price)
        except LookupError:
            return None

    return price
