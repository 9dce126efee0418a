"""Finding a quote in its source."""

from __future__ import annotations

from loopwright.retrieval.text import UNSPACED

_PLAIN = str.maketrans(
    {
        **dict.fromkeys("“”„‟«»″", '"'),
        **dict.fromkeys("‘’‚‛′`", "'"),
        **dict.fromkeys("‐‑‒–—―−", "-"),
    }
)


def verify_quote(quote: str, text: str, *, whole_words: bool = False) -> tuple[int, int] | None:
    """Find a quote in a text, whatever the white space and the shape of quotation marks and dashes; case counts.

    Returns:
        Where it stands: ``text[start:end]`` are the source's own characters. None if it does not stand there, or if the
        quote has no letter or digit.
    """
    if not any(character.isalnum() for character in quote):
        return None
    exact = _find(quote.strip(), text, whole_words)
    if exact >= 0:
        return exact, exact + len(quote.strip())
    wanted = " ".join(quote.translate(_PLAIN).split())
    plain, places = _plain(text)
    start = _find(wanted, plain, whole_words)
    return None if start < 0 else (places[start], places[start + len(wanted) - 1] + 1)


def _find(wanted: str, text: str, whole_words: bool) -> int:
    """Where some words begin; -1 if they do not occur. Scripts without spaces have no word borders to keep."""
    start = text.find(wanted)
    while start >= 0 and whole_words and (_inside_word(text, start) or _inside_word(text, start + len(wanted))):
        start = text.find(wanted, start + 1)
    return start


def _inside_word(text: str, place: int) -> bool:
    around = text[max(0, place - 1) : place + 1]
    return 0 < place < len(text) and around.isalnum() and not UNSPACED.search(around)


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
