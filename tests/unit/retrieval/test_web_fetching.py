"""Pages: what is read of them, what is refused, and where a redirect may lead."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest
from search_server import Reply, SearchServer, closed_port, page, redirect, searching

from loopwright.errors import SearchError
from loopwright.retrieval.web.fetching import MAX_ELEMENTS, MAX_PAGE, MAX_REDIRECTS, PageFetcher, WebPage

ARTICLE = """<!DOCTYPE html><html><head><title>กรุงเทพ
 &amp; Bangkok</title><style>p {color: red}</style><script>var a = "<p>code</p>";</script></head>
<body><nav><a href="/">Home</a></nav><form><input><button>Send</button></form>
<div role="navigation">Menu</div><p hidden>Hidden by attribute</p><p style="color:red; display : none">Hidden by style</p>
<div aria-hidden="true">Hidden from readers</div><span style="font-size:0">Hidden by size</span><!-- comment -->
<h1>Capital</h1><p>กรุงเทพมหานคร is the <b>cap</b>ital<br>of Thailand.\u200b</p>
<ul><li>One</li><li>Two</li></ul><span style="font-size:0.9em">Small</span>
<footer>Imprint</footer><svg><text>Drawing</text></svg></body></html>"""


@pytest.fixture
def server() -> Iterator[SearchServer]:
    with searching() as started:
        yield started


@pytest.fixture
def fetcher() -> PageFetcher:
    return PageFetcher(allow_private=True)


async def test_a_page_is_read_as_a_reader_sees_it(server: SearchServer, fetcher: PageFetcher):
    server.pages["/a"] = page(ARTICLE)
    assert await fetcher.fetch(f"{server.url}/a#part") == WebPage(
        url=f"{server.url}/a#part",
        title="กรุงเทพ & Bangkok",
        text="Capital\nกรุงเทพมหานคร is the capital\nof Thailand.\nOne\nTwo\nSmall",
    )
    (asked,) = server.requests
    assert asked.headers["Host"] == server.url.removeprefix("http://")
    assert asked.headers["Accept-Encoding"] == "identity"


async def test_the_main_part_is_taken_where_it_is_marked(server: SearchServer, fetcher: PageFetcher):
    long = "The main part of it. " * 20
    server.pages["/a"] = page(f"<p>Advertisement</p><article>Teaser</article><main><p>{long}</p></main>")
    server.pages["/b"] = page("<p>Everything is here</p><main>Teaser</main>")
    assert (await fetcher.fetch(f"{server.url}/a")).text == long.strip()
    assert (await fetcher.fetch(f"{server.url}/b")).text == "Everything is here\nTeaser"


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (Reply("สวัสดี".encode("tis-620"), type="text/html; charset=tis-620"), "สวัสดี"),
        (Reply('<meta charset="tis-620"><p>สวัสดี'.encode("tis-620"), type="text/html"), "สวัสดี"),
        (Reply("中文 text".encode(), type="text/html; charset=no-such-charset"), "中文 text"),
        (Reply("a  b\r\n\r\n\u202e<b>c".encode(), type="text/plain"), "a b\n<b>c"),
        (Reply("é".encode("latin-1"), type="text/plain; charset=ISO-8859-1"), "é"),
        (Reply(b"\xff x", type="text/plain; charset=no-such-charset"), "\ufffd x"),
        (Reply(b"plain \xff", type="text/plain; charset=undefined"), "plain \ufffd"),
        (Reply(b"plain \xff", type="text/plain; charset=idna"), "plain \ufffd"),
        (Reply(b"a-9b", type="text/plain; charset=punycode"), "a-9b"),
        (Reply(b"a\\x62", type="text/plain; charset=unicode_escape"), "a\\x62"),
        (Reply("中文".encode("gb18030"), type="text/plain; charset=GB18030"), "中文"),
        (Reply("日本".encode("euc_jp"), type="text/plain; charset=EUC-JP"), "日本"),
        (Reply("ไทย".encode("cp874"), type="text/plain; charset=tis-620"), "ไทย"),
        (Reply(b"", type="text/html"), ""),
        (Reply(b"<p>upper", type="TEXT/HTML"), "upper"),
    ],
)
async def test_encodings_and_plain_text(server: SearchServer, fetcher: PageFetcher, reply: Reply, text: str):
    server.pages["/a"] = reply
    assert (await fetcher.fetch(f"{server.url}/a")).text == text


@pytest.mark.parametrize(
    "type_",
    [
        "application/pdf",
        "image/png",
        "application/json",
        "text/javascript",
        "application/octet-stream",
        "",
        "text/htmlx",
    ],
)
async def test_other_types_are_refused(server: SearchServer, fetcher: PageFetcher, type_: str):
    server.pages["/a"] = Reply(b"<p>x", type=type_)
    with pytest.raises(SearchError, match="only HTML and plain text are read") as caught:
        await fetcher.fetch(f"{server.url}/a")
    assert not caught.value.transient


async def test_a_body_of_ten_megabytes_is_refused(server: SearchServer, fetcher: PageFetcher):
    server.pages["/a"] = Reply(b"x" * 10_000_000, type="text/html")
    with pytest.raises(SearchError, match=f"more than {MAX_PAGE} bytes") as caught:
        await fetcher.fetch(f"{server.url}/a")
    assert not caught.value.transient


async def test_a_compressed_page_is_refused_unread(server: SearchServer, fetcher: PageFetcher):
    bomb = gzip.compress(b"x" * 50_000_000)
    server.pages["/a"] = Reply(bomb, type="text/html", headers={"Content-Encoding": "gzip"})
    with pytest.raises(SearchError, match=r"compressed reply \(gzip\)"):
        await fetcher.fetch(f"{server.url}/a")


@pytest.mark.parametrize(("status", "transient"), [(204, False), (403, False), (404, False), (429, True), (500, True)])
async def test_statuses(server: SearchServer, fetcher: PageFetcher, status: int, transient: bool):
    server.pages["/a"] = page("<p>x", status=status) if status != 204 else Reply(b"", status=204, type="")
    with pytest.raises(SearchError) as caught:
        await fetcher.fetch(f"{server.url}/a")
    assert caught.value.transient is transient


@pytest.mark.parametrize("reply", [Reply(b"<p>x", type="text/html", hang=True), Reply(silent=True)])
async def test_pages_that_hang_or_break_off_are_transient(server: SearchServer, reply: Reply):
    server.pages["/a"] = reply
    with pytest.raises(SearchError) as caught:
        await PageFetcher(allow_private=True, timeout=0.5).fetch(f"{server.url}/a")
    assert caught.value.transient


async def test_a_refused_connection_is_transient(fetcher: PageFetcher):
    with pytest.raises(SearchError, match="cannot be reached") as caught:
        await fetcher.fetch(f"http://127.0.0.1:{closed_port()}/")
    assert caught.value.transient


async def test_redirects_are_followed_and_limited(server: SearchServer, fetcher: PageFetcher):
    server.pages["/end"] = page("<p>arrived")
    server.pages["/relative"] = redirect("end", body=b"ignored")
    server.pages["/absolute"] = redirect(f"{server.url}/relative", status=301)
    server.pages["/loop"] = redirect("/loop")
    found = await fetcher.fetch(f"{server.url}/absolute")
    assert (found.url, found.text) == (f"{server.url}/end", "arrived")
    server.requests.clear()
    with pytest.raises(SearchError, match=f"redirects more than {MAX_REDIRECTS} times"):
        await fetcher.fetch(f"{server.url}/loop")
    assert len(server.requests) == MAX_REDIRECTS + 1


@pytest.mark.parametrize(
    ("location", "said"),
    [
        ("http://127.0.0.2:{port}/secret", "127.0.0.2, which is not a public address"),
        ("http://169.254.169.254/latest/meta-data/", "not a public address"),
        ("http://10.0.0.1/", "not a public address"),
        ("http://[::1]:{port}/secret", "not a public address"),
        ("//127.0.0.3/secret", "not a public address"),
        ("http://2130706433:{port}/secret", "no plain host name"),
        ("http://me@127.0.0.1:{port}/secret", "user name"),
        ("file:///etc/passwd", "no http or https address"),
        ("http://[broken", "no plain host name"),
        ("http://xn--a/", "cannot be read"),
        ("http://xn--/", "cannot be read"),
    ],
)
async def test_a_redirect_is_checked_like_the_first_address(server: SearchServer, location: str, said: str):
    """The test's server stands for a public one: its very address is exempt, and no other of loopback is."""
    fetcher = PageFetcher(exempt=["127.0.0.1/32"])
    server.pages["/a"] = redirect(location.format(port=server.server_port))
    server.pages["/secret"] = page("<p>secret")
    with pytest.raises(SearchError) as caught:
        await fetcher.fetch(f"{server.url}/a")
    assert said in str(caught.value)
    assert [asked.path for asked in server.requests] == ["/a"]


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "LocalHost.", "[::1]", "2130706433", "127.1"])
async def test_nothing_is_sent_to_the_machine_itself(server: SearchServer, host: str):
    server.pages["/a"] = page("<p>secret")
    with pytest.raises(SearchError, match="was not fetched") as caught:
        await PageFetcher(ports=(server.server_port,)).fetch(f"http://{host}:{server.server_port}/a")
    assert not caught.value.transient
    assert server.requests == []


async def test_a_name_is_connected_to_at_its_checked_address(server: SearchServer):
    """The host keeps its name in the Host header while the connection goes to an address."""
    server.pages["/a"] = page("<p>here")
    fetcher = PageFetcher(exempt=["127.0.0.1/32", "::1/128"])
    assert (await fetcher.fetch(f"http://localhost:{server.server_port}/a")).text == "here"
    assert server.requests[0].headers["Host"] == f"localhost:{server.server_port}"


async def test_tls_is_verified_for_the_name_and_not_for_the_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("cryptography")
    from search_server import certificate

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\nsafe")
        await writer.drain()
        writer.close()

    tls, authority = certificate(tmp_path, "localhost")
    monkeypatch.setenv("SSL_CERT_FILE", authority)
    async with await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls) as listening:
        port = listening.sockets[0].getsockname()[1]
        fetcher = PageFetcher(allow_private=True)
        assert (await fetcher.fetch(f"https://localhost:{port}/")).text == "safe"
        with pytest.raises(SearchError, match="CERTIFICATE_VERIFY_FAILED"):
            await fetcher.fetch(f"https://127.0.0.1:{port}/")


async def test_a_proxy_of_the_environment_is_not_used(server: SearchServer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{closed_port()}")
    server.pages["/a"] = page("<p>direct")
    assert (await PageFetcher(allow_private=True).fetch(f"{server.url}/a")).text == "direct"


async def test_cookies_are_not_kept_from_one_redirect_to_the_next(server: SearchServer, fetcher: PageFetcher):
    headers = {"Location": "/b", "Set-Cookie": "who=you; Path=/"}
    server.pages["/a"] = Reply(status=302, headers=headers)
    server.pages["/b"] = page("<p>x")
    await fetcher.fetch(f"{server.url}/a")
    assert [asked.path for asked in server.requests] == ["/a", "/b"]
    assert "Cookie" not in server.requests[1].headers


@pytest.mark.parametrize(
    "hostile", ["<div>" * 5_000, "<p hidden>" * 5_000, "<a href='" + "x" * 1_900_000, "&" * 1_900_000]
)
async def test_hostile_markup_is_read_without_recursion(server: SearchServer, hostile: str):
    server.pages["/a"] = page(f"<p>begin</p>{hostile}")
    page_read = await PageFetcher(allow_private=True, timeout=60).fetch(f"{server.url}/a")
    assert page_read.text.startswith("begin")


async def test_a_page_of_too_many_elements_is_refused(server: SearchServer, fetcher: PageFetcher):
    server.pages["/a"] = page("<b>" * (MAX_ELEMENTS + 1))
    with pytest.raises(SearchError, match=f"more than {MAX_ELEMENTS} elements"):
        await fetcher.fetch(f"{server.url}/a")


async def test_an_encoding_that_breaks_the_parser_is_a_search_error(server: SearchServer, fetcher: PageFetcher):
    server.pages["/a"] = Reply(b"<meta charset='a\0b'><p>x", type="text/html")
    with pytest.raises(SearchError, match="/a cannot be read") as caught:
        await fetcher.fetch(f"{server.url}/a")
    assert not caught.value.transient


@pytest.mark.parametrize(
    "url",
    [
        *("", "no address", "http://", "http://[x/", "http://①②⑦.0.0.1/", "http://0177.0.0.1/", "http://a\x00b/"),
        *("http://xn--a/", "http://xn--/", "http://a/\ud800", "http://\ud800/"),
    ],
)
async def test_what_is_no_address_is_a_search_error(fetcher: PageFetcher, url: str):
    with pytest.raises(SearchError) as caught:
        await fetcher.fetch(url)
    assert not caught.value.transient
