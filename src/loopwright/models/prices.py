"""What models cost, as the package ``genai-prices`` keeps it.

A `loopwright.models.PriceTable` is any function of a model's name and a `Usage` that gives the price, or None for a
model that it does not know; this is one.
"""

import importlib.util
from contextlib import suppress
from typing import Any, cast

from loopwright.engine.budget.budget import PriceTable, Usage
from loopwright.errors import ModelError, unknown_name_message


def prices() -> PriceTable | None:
    """What models cost; None where the package with the prices is not installed."""
    return kept_prices() if importlib.util.find_spec("genai_prices") else None


def kept_prices(provider: str | None = None) -> PriceTable:
    """The prices, in US dollars, that the package ``genai-prices`` (MIT) ships; nothing is fetched.

    They know models by their names alone, also one on this machine that a provider has as well. A provider may charge
    more for long prompts: a usage of several calls is priced as that many calls of the same length.

    Args:
        provider: Whose prices, for example ``"openai"``; None guesses from the model's name. One that begins
            with its provider's, as ``"openai/gpt-4.1-mini"``, costs what OpenRouter asks, else what that provider does.

    Raises:
        ModelError: If the package is not installed, or knows no such provider.
    """
    if importlib.util.find_spec("genai_prices") is None:
        raise ModelError("genai_prices cannot be imported. Install it: pip install 'loopwright[prices]'")

    if provider not in (None, "litellm"):  # which is a list of its own
        from genai_prices.data_snapshot import find_provider_by_id, get_snapshot

        known: Any = get_snapshot().providers
        if find_provider_by_id(known, provider) is None:
            raise ModelError(unknown_name_message("provider of prices", provider, [each.id for each in known]))

    def price(model: str, usage: Usage) -> float | None:
        # The list takes a third of a second to read: only where a model was asked.
        import genai_prices  # pyright: ignore[reportMissingImports]

        kept = cast("Any", genai_prices)
        calls = max(1, usage.calls - usage.unmetered_calls)
        tokens = kept.Usage(
            input_tokens=round(usage.input_tokens / calls), output_tokens=round(usage.output_tokens / calls)
        )
        # A name with a slash is a gateway's: its own price counts, or that of the provider before the slash.
        for whose in ("openrouter", "litellm") if "/" in model and provider is None else (provider,):
            with suppress(LookupError):
                return calls * float(kept.calc_price(tokens, model, provider_id=whose).total_price)
        return None

    return price
