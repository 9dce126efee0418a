"""What an engine sent, as results that are safe to show and to compare."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, cast
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit

from loopwright.errors import SearchError
from loopwright.retrieval.web.cleaning import MAX_TEXT, MAX_TITLE, MAX_URL, clean_text, collapse
from loopwright.retrieval.web.protocol import WebResult

MAX_ENGINE = 60
"""The most characters of an engine's name."""
_SCHEMES = ("http", "https")
_TRACKING = ("utm_", "gclid", "fbclid", "msclkid", "mc_eid")


def clean_results(results: Iterable[WebResult], k: int) -> list[WebResult]:
    """Clean an engine's results and merge those of one page.

    Titles, texts and names lose markup and invisible characters, and are cut to `MAX_TITLE`, `MAX_TEXT` and
    `MAX_ENGINE` characters. Only http and https addresses stay, without user names in them. Two results of one page
    become one, in the place of the first, with the longer text.

    Returns:
        At most ``k`` results, in order.
    """
    merged: dict[str, WebResult] = {}
    for result in results:
        url = _clean_url(result.url)
        if url is None:
            continue
        cleaned = WebResult(
            title=clean_text(result.title, MAX_TITLE) or url,
            url=url,
            text=clean_text(result.text, MAX_TEXT),
            engine=clean_text(result.engine, MAX_ENGINE),
        )
        key = normalised_url(url)
        first = merged.setdefault(key, cleaned)
        merged[key] = replace(first, text=max(first.text, cleaned.text, key=len))
    return list(merged.values())[: max(k, 0)]


def normalised_url(url: str) -> str:
    """What two addresses of one page have in common.

    The scheme, a leading "www.", the default port, the fragment, tracking parameters and a final slash do not count.
    """
    parts = urlsplit(url)
    host = (parts.hostname or "").removeprefix("www.")
    port = f":{parts.port}" if parts.port not in (None, 80, 443) else ""
    asked = [pair for pair in parse_qsl(parts.query, keep_blank_values=True) if not pair[0].startswith(_TRACKING)]
    query = f"?{urlencode(asked)}" if asked else ""
    return f"{host}{port}{parts.path.rstrip('/')}{query}"


def entries(reply: Any, key: str, who: str) -> list[Mapping[str, Any]]:
    """The results in an engine's JSON reply.

    Raises:
        SearchError: If the reply has not that shape.
    """
    found = cast("Mapping[str, Any]", reply).get(key) if isinstance(reply, Mapping) else None
    if not isinstance(found, list):
        raise SearchError(f"{who} sent JSON without a list {key!r}; is that the address of such a search engine?")
    items = cast("list[Any]", found)
    if not all(isinstance(item, Mapping) for item in items):
        raise SearchError(f"{who} sent a list {key!r} of something else than objects: {str(items)[:80]!r}")
    # A result without an address is normal where an engine gives answers too; a whole list of them is another format.
    if items and not any(text_field(item, "url") for item in items):
        raise SearchError(f"{who} sent results without a text 'url': {str(items)[:80]!r}")
    return items


def text_field(entry: Mapping[str, Any], key: str) -> str:
    """A text of a result; empty where there is none, as engines send null for a page without a description."""
    value = entry.get(key)
    return value if isinstance(value, str) else ""


def _clean_url(raw: str) -> str | None:
    url = collapse(raw)
    try:
        # What is left without a user name can be no address any more, as in "http://[::1]@]a/".
        parts = urlsplit(_without_user(urlsplit(url)).geturl())
        usable = parts.scheme in _SCHEMES and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return None
    if not usable or len(url) > MAX_URL or " " in parts.netloc:
        return None
    return parts.geturl()


def _without_user(parts: SplitResult) -> SplitResult:
    # "https://bank.example@evil.example/" reads like the bank's address.
    return parts._replace(netloc=parts.netloc.rpartition("@")[2])
