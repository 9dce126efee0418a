"""Results are plain, safe to show, and each page comes once."""

from __future__ import annotations

import subprocess
import sys

import pytest

from loopwright.retrieval.web.cleaning import clean_text
from loopwright.retrieval.web.protocol import WebResult
from loopwright.retrieval.web.results import clean_results


def result(url: str, text: str = "text", title: str = "title") -> WebResult:
    return WebResult(title=title, url=url, text=text, engine="e")


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("<b>bold</b> &amp; <i>slanted</i>", "bold & slanted"),
        ("w<b>or</b>d", "word"),
        ("&lt;script&gt;alert(1)&lt;/script&gt;safe", "safe"),
        ("&amp;lt;b&amp;gt;twice&amp;lt;/b&amp;gt;", "twice"),
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


@pytest.mark.parametrize("piece", ["<a ", "<b <", "<!--", "&lt;a "])
def test_tags_that_never_end_are_read_in_linear_time(piece: str):
    """Quadratic time would be minutes here; the process is ended before."""
    raw = f"{piece!r} * 100_000"
    code = f"from loopwright.retrieval.web.cleaning import clean_text; print(len(clean_text({raw}, 600_000)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert int(done.stdout) > 100_000


def test_only_web_addresses_stay_and_user_names_go():
    kept = clean_results(
        [
            result("javascript:alert(1)"),
            result("file:///etc/passwd"),
            result("data:text/html,x"),
            result("//no.scheme/x"),
            result("http://"),
            result("http://[broken"),
            result("http://[::1]@]a/"),
            result("http://me@/"),
            result("http://port.example:99999/"),
            result("https://long.example/" + "x" * 3000),
            result("https://bank.example@evil.example/login"),
            result(" HTTPS://Ok.example/a\u200bb "),
        ],
        10,
    )
    assert [each.url for each in kept] == ["https://evil.example/login", "https://Ok.example/ab"]


def test_one_page_comes_once_in_the_first_place_with_the_longer_text():
    merged = clean_results(
        [
            result("http://www.a.example:80/page/?utm_source=x&id=1", "short", "First"),
            result("https://b.example/"),
            result("https://a.example/page?id=1#part", "a longer text", "Second"),
            result("https://a.example/page?id=2"),
        ],
        10,
    )
    assert [(each.title, each.text) for each in merged] == [
        ("First", "a longer text"),
        ("title", "text"),
        ("title", "text"),
    ]
    assert merged[0].url == "http://www.a.example:80/page/?utm_source=x&id=1"
