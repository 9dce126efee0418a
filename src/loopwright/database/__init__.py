"""One relational database behind everything that lasts: its connections, what can go wrong, and the texts it takes."""

import re

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def storable(text: str) -> str:
    """A text that both databases take: U+FFFD instead of NUL and lone surrogates."""
    # Nearly every text is ASCII, and finding that out takes a hundredth of the time.
    return text if text.isascii() and "\x00" not in text else _UNSTORABLE.sub("\ufffd", text)
