"""Finding a quote in its source."""

from __future__ import annotations

_PLAIN = str.maketrans(
    {
        **dict.fromkeys("“”„‟«»″", '"'),
        **dict.fromkeys("‘’‚‛′`", "'"),
        **dict.fromkeys("‐‑‒–—―−", "-"),
    }
)


def verify_quote(quote: str, text: str) -> tuple[int, int] | None:
    """Find a quote in a text, whatever the white space and the shape of quotation marks and dashes.

    Args:
        quote: The words to find; case counts.
        text: The source.

    Returns:
        Where it stands: ``text[start:end]`` are the source's own characters. None if it does not stand there, or if the
        quote has no letter or digit.
    """
    if not any(character.isalnum() for character in quote):
        return None
    exact = text.find(quote.strip())
    if exact >= 0:
        return exact, exact + len(quote.strip())
    wanted = " ".join(quote.translate(_PLAIN).split())
    plain, places = _plain(text)
    start = plain.find(wanted)
    return None if start < 0 else (places[start], places[start + len(wanted) - 1] + 1)


def _plain(text: str) -> tuple[str, list[int]]:
    """A text in plain characters with single spaces, and where each of its characters stands in the source."""
    kept: list[str] = []
    places: list[int] = []
    for place, character in enumerate(text):
        if character.isspace():
            if kept and kept[-1] == " ":
                continue
            character = " "
        kept.append(character.translate(_PLAIN))
        places.append(place)
    return "".join(kept), places
