"""Results are plain and safe to show."""

from __future__ import annotations

import pytest
from search_server import SearchServer

from loopwright.retrieval.web import SearchSettings
from loopwright.retrieval.web.cleaning import clean_text
from loopwright.retrieval.web.engines import SearxngSearch


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("<b>bold</b> &amp; <i>slanted</i>", "bold & slanted"),
        ("w<b>or</b>d", "word"),
        ("one<br>two<br/>three", "one two three"),
        ("if a <b or c <i", "if a <b or c <i"),
        ("List<String> and a < b and b > c", "List<String> and a < b and b > c"),
        ("a\x00b\x1b[31mc\x7f", "ab[31mc"),
        ("zero\u200bwidth\u2060 \ufeffjoiner\u200d", "zerowidth joiner"),
        ("\u202egnp.exe\u202c \u2066x\u2069", "gnp.exe x"),
        ("hid\U000e0041\U000e0042den\U000e0101", "hidden"),
        ("half \ud800 character", "half character"),
        ("  a\t\n\u00a0\u3000b  ", "a b"),
        ("ภาษาไทย<b>สวัสดี</b>", "ภาษาไทยสวัสดี"),
        ("日本語 &#x4E2D;&#25991;", "日本語 中文"),
    ],
)
def test_text_becomes_one_plain_line(raw: str, clean: str):
    assert clean_text(raw, 1000) == clean


async def test_only_web_addresses_stay_and_user_names_go(server: SearchServer):
    server.results = [
        {"title": "title", "url": url}
        for url in (
            "javascript:alert(1)",
            "file:///etc/passwd",
            "data:text/html,x",
            "//no.scheme/x",
            "http://",
            "http://[broken",
            "http://[::1]@]a/",
            "http://me@/",
            "http://port.example:99999/",
            "https://long.example/" + "x" * 3000,
            "https://bank.example@evil.example/login",
            " HTTPS://Ok.example/a\u200bb ",
        )
    ]
    kept = await SearxngSearch(SearchSettings(engine="searxng", url=server.url, max_results=50)).search("x", 50)
    assert [each.id for each in kept] == ["https://evil.example/login", "https://Ok.example/ab"]


async def test_an_excerpt_that_was_cut_within_a_character_is_read(server: SearchServer):
    server.results = [{"title": "whole 😀", "url": "https://a.example/", "content": "cut \ud83d"}]
    (found,) = await SearxngSearch(SearchSettings(engine="searxng", url=server.url)).search("x")
    assert (found.title, found.text) == ("whole 😀", "cut")
