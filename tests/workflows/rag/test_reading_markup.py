"""Markdown, plain text and HTML."""

import hashlib
from datetime import UTC, datetime
from pathlib import Path

import pytest
from documents import CHINESE, THAI, refusal, written

from loopwright.workflows.rag.sources.reading import ReadDocument, ReadingLimits, ReadingProblem, read_source


def read(path: Path, content: str | bytes) -> ReadDocument:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    (document,) = read_source(path)
    return document


def headings(document: ReadDocument) -> list[tuple[str, ...]]:
    return [section.headings for section in document.sections]


def test_markdown_structure(tmp_path: Path):
    body = (
        "Before.\n\n# The *big* `one`\n\n## Empty\n## Full [link](x)\ntext **kept**\n\n"
        "```\n# no heading\n```\n> # quoted\n\nSetext\n======\nend\n"
    )
    document = read(tmp_path / "a.md", "---\ntitle: Named\nTags: [x, 7, [nested]]\nDATE: 2023-04-05\n---\n" + body)
    assert document.text == body
    assert document.title == "Named" and document.tags == ("x", "7")
    assert document.date == datetime(2023, 4, 5, tzinfo=UTC)
    assert headings(document) == [(), ("The big one", "Full link"), ("Setext",)]
    full = document.sections[1]
    assert document.text[full.start : full.end].startswith("# The *big* `one`\n\n## Empty\n## Full")
    assert document.text[full.start : full.end].rstrip().endswith("> # quoted")
    hugo = read(tmp_path / "b.md", f'+++\ntitle = "Named"\ntags = ["x"]\ndate = 2023-04-05\n+++\n{body}')
    assert (hugo.text, hugo.title, hugo.tags, hugo.date) == (body, "Named", ("x",), document.date)
    for kind, mark in (("adoc", "="), ("org", "*"), ("mdx", "#")):
        assert headings(read(tmp_path / f"a.{kind}", f"{mark} A\n\n{mark}{mark} Fares\nB = 3.")) == [("A", "Fares")]
    block = read(tmp_path / "b.adoc", "= A\n:x: y\n\n[[f]]\n.Fares\n----\n[b]\n----\nxref:a#b[See C].\n====\nD\n====")
    assert block.text.split() == "# A Fares ``` [b] ``` [See C](a#b). D".split() and headings(block) == [("A",)]
    block = read(tmp_path / "b.org", "#+TITLE: A\n#+BEGIN_SRC sh\n* b\n#+END_SRC\n[[x][See C]].")
    assert block.text.split() == "# A ``` * b ``` [See C](x).".split()


@pytest.mark.parametrize("contents", ["## In it\n\n- [Safety](#1-safety)\n    - [Use](#use)\n* [Care?](#care)\n\n",
                                      "1 Safety .... 3\n1.1 Use\t4\n2 Care . . . . 12\n"])  # fmt: skip
def test_a_table_of_contents_is_blank(tmp_path: Path, contents: str):
    body = "## 1 Safety\nWear gloves.\n\nTea .... 3\nMilk\t4\n\n## 1.1 Use\nSlowly.\n\n## 2 Care\nOften.\n"
    document = read(tmp_path / "a.md", contents + body)
    assert document.text.endswith(body) and not document.text.removesuffix(body).strip()
    kept = "Tea .... 3\nMilk\t4\nAle .... 2\n\nTea\nMilk\nAle\n- [From 9 to 5](#hours)\n\n## Hours\nLong.\n"
    assert read(tmp_path / "b.md", kept).text == kept


def test_scripts_styles_and_comments_are_blank_but_in_code(tmp_path: Path):
    gone = "<!-- a\n# b -->\n\n<script>\nvar c = 4;\n</script>\n  <STYLE type='x'>d{}</style >\n"
    nested = "```x``` y\n> ```\n> <!-- h -->\n> ```\n- ```\n  <!-- i -->\n  ```\n\n`` `<!--` `` \\<!-- j -->\n"
    kept = f"`<!-- e -->` f\n```\n{gone}```\n\n{nested}    <!-- g -->\n\nEnd <!-- of it"
    document = read(tmp_path / "a.md", gone + kept)
    assert document.text.endswith(kept) and not document.text.removesuffix(kept).strip()
    assert len(document.text) == len(gone + kept)


RST = """
.. _start:

=======
 Title
=======

See :ref:`the end <end>`, :class:`~a.B`, ``lit`` and `here <https://x.y>`_. So::

    no = "heading"
    =====

.. note:: Never
   twice.

   .. code-block:: console
      :linenos:

      $ run

.. a comment
   of two lines

Part
----

+---+---+
| a | b |
+---+---+

Small
~~~~~

>>> 1 + 1
2

Other
-----
.. image:: x.png
   :alt: no
.. figure:: x.png
   :alt: no

   Fig. 7
.. |of| replace:: of the pier
.. csv-table:: Fees
   :header: "Who", "Sum"

   "Child", "4, in all"
.. list-table:: Gears
   :header-rows: 1

   * - Gear
     - |of|
   * - First
     -
=====  ======
Name   Price
=====  ======
Heron  10 EUR
       a day
=====  ======

Either |of| or `|of|`, ``a |of| b``.

|of|k|

.. csv-table:: Long

   "LONG"

The end.
"""


def test_restructured_text_is_read_as_markdown(tmp_path: Path):
    document = read(tmp_path / "a.rst", RST.replace("LONG", "x" * 140_000))
    assert document.title == "Title"
    assert headings(document) == [("Title",), ("Title", "Part"), ("Title", "Part", "Small"), ("Title", "Other")]
    for told in (
        "See the end, `a.B`, `lit` and [here](https://x.y). So:\n\n```\nno = \"heading\"\n=====\n```\n",
        "Note: Never\ntwice.\n\n\n```console\n$ run\n```\n", "\n| a | b |\n", "| Heron | 10 EUR a day |", "Fig. 7", "x" * 140_000,
        "Either of the pier or `|of|`, `a |of| b`.\n\n|of|k|\n",
        "Fees\n\n| Who | Sum |\n| --- | --- |\n| Child | 4, in all |", "| Gear | of the pier |\n| --- | --- |\n| First |  |", "```python\n>>> 1 + 1\n2\n```\n", "The end.",
    ):  # fmt: skip
        assert told in document.text
    for gone in (":linenos:", "comment", "of two lines", "x.png", ":alt:", "_start", "---+", "~~~", ".. "):
        assert gone not in document.text


@pytest.mark.parametrize(
    "front",
    ["a: [", "date: 2024-13-45", "x: !!python/object/apply:os.system ['id']", "[" * 900, "n: " + "9" * 5000 + "\n: :"],
)
def test_broken_front_matter_is_text_and_told(tmp_path: Path, front: str):
    path = written(tmp_path, "f.md", f"---\n{front}\n---\n\nbody")
    problems: list[ReadingProblem] = []
    (document,) = read_source(path, on_problem=problems.append)
    assert document.text == path.read_text()
    assert len(problems) == 1 and "front matter" in str(problems[0].error)
    assert not problems[0].left_out


def test_yaml_that_multiplies_is_harmless(tmp_path: Path):
    levels = "\n".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30))
    document = read(tmp_path / "bomb.md", f"---\na0: &a0 lol\n{levels}\ntitle: *a29\n---\nbody")
    assert document.title == "bomb" and document.text == "body"
    dated = written(tmp_path, "dated.md", f"---\na0: &a0 lol\n{levels}\ndate: *a29\n---\nbody")
    problems: list[ReadingProblem] = []
    (document,) = read_source(dated, on_problem=problems.append)
    assert document.text == "body" and "its date (a list) is not ISO 8601" in str(problems[0].error)


ENGLISH = "It’s £400, at 5°C – or €8"


@pytest.mark.parametrize(
    ("encoding", "text"),
    [*((each, THAI) for each in ("utf-8", "utf-8-sig", "utf-16", "utf-32", "cp874")), ("cp1251", "Контакт: Иванов")]
    + [("cp1252", each) for each in (ENGLISH, f"{ENGLISH * 40}\nniño", "£400")]
    + [(each, ENGLISH) for each in ("utf-16-le", "utf-16-be")]
    + [("shift_jis", "Press ソフト, then ボタン."), ("big5", "Report on the city 台北 and 高雄, with 功能 and 許可.")]
    + [("cp1250", "Cena Ł1 to 5 zł. Żółta łódź płynie do Gdańska."), ("cp1252", "TÉLÉPHONE: 5 ÉTÉ, très £5 cher")],
)
def test_text_encodings(tmp_path: Path, encoding: str, text: str):
    data = (text + "\r\nnext").encode(encoding)
    document = read(tmp_path / "t.txt", data)
    assert document.text == text + "\nnext" and document.title == "t"
    assert document.digest == hashlib.sha256(data).hexdigest()


PAGE = f"""<!DOCTYPE html><html><head><meta charset="utf-8"><title> The
 page </title><style>p {{ color: red }}</style><script>document.write("written")</script></head>
<body onload="alert('handler')"><!-- a comment --><h1>Main <em>thing</em></h1>
<p onclick="steal()">First   <b>bold</b>paragraph<br>second 10<sup>6</sup> m<sup>2</sup> line</p>
<script>evil("inline")</script><noscript>enable it</noscript><template><p>template</p></template>
<div hidden>hidden one</div><div style="color:red; DISPLAY : none">hidden two</div>
<span style="visibility:hidden">hidden three</span><svg><text>drawn</text></svg>
<h2>Table</h2><table><tr><th>City<th>People</tr><tr><td>กรุงเทพ<td>8&nbsp;000</tr></table>
<ul><li>one<li>two</ul><pre>a
   b</pre><pre>It is opened twice, as I have seen.</pre><p>{CHINESE}</p><![CDATA[data]]></body></html>"""


def test_html_is_what_a_reader_sees(tmp_path: Path):
    document = read(tmp_path / "p.html", PAGE)
    assert document.title == "The page"
    assert document.text == (
        "Main thing\n\nFirst boldparagraph\nsecond 10^6 m2 line\n\nTable\n\nCity | People\nกรุงเทพ | 8 000\n\none\ntwo\n\n"
        f"```\na\n   b\n```\n\nIt is opened twice, as I have seen.\n\n{CHINESE}"
    )
    assert headings(document) == [("Main thing",), ("Main thing", "Table")]


def row(*cells: str) -> str:
    return f"<tr>{''.join(cell if cell.startswith('<') else f'<td>{cell}' for cell in cells)}</tr>"


GROUP, LONG = "<td colspan=2>Private", f"<td colspan=2>{'word ' * 30}"


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<p>A <x-term>valve</x-term> at 5 bar.</p><h2><button>Open</button></h2>", "A valve at 5 bar.\n\nOpen"),
        ("<x-cell>Owner</x-cell><x-cell>Ann</x-cell>: Call<button>Me</button>", "Owner\n\nAnn: Call\n\nMe"),
        ("<p>Rent<sup>12</sup> of 7 km<sup>2</sup> is <i>due</i>.<sup>3</sup>", "Rent^12 of 7 km2 is due.^3"),
        ("<p>2.<sup>99</sup> in 2020.<sup>12</sup> (x)<sup>2</sup>", "2.99 in 2020.^12 (x)^2"),
        ("<p>It holds <math><msup><mn>10</mn><mn>6</mn></msup></math> litres.", "It holds 10^6 litres."),
        ("<p>東京の<ruby>漢<rp>(</rp><rt>かん</rt></ruby>字</p>", "東京の漢字"),
        (f"<p>top</p>{'<div><span>' * 5_000}deep", "top\n\ndeep"),
        ("<p>It costs <s>5</s> <strike>6</strike> 7.</p><h2>C#<a href='#c'>#</a></h2>", "It costs 7.\n\nC#"),
        (f"<table>{row('Plan', 'Fee')}{row(GROUP)}{row('Gold', '3')}", "Plan | Fee\nPrivate | Private\nGold | 3"),
        (f"<table>{row('Gold', '<td><ul><li>3<li>4')}{row('Tin', '1')}", "Gold | 3 4\nTin | 1"),
        (f"<table>{row(GROUP)}{row('Plan', 'Fee')}", "Private\n\nPlan | Fee"),
        (f"<table>{row('Plan', 'Fee')}{row(LONG)}", f"Plan | Fee\n\n{('word ' * 30).strip()}"),
        (f"<table>{row('Plan', 'Fee')}{row('<td colspan=2><hr>')}{row('Gold', '3')}", "Plan | Fee\nGold | 3"),
        (f"<table>{row('Plan', 'Fee')}{row('<td colspan=99>Own')}", "Plan | Fee\nOwn | Own"),
        (f"<table>{row('Plan', 'Fee')}{row('<td colspan=2>All is paid.')}", "Plan | Fee\n\nAll is paid."),
    ],
)
def test_html_is_laid_out_as_a_browser_does(tmp_path: Path, page: str, text: str):
    assert read(tmp_path / "p.html", page).text == text


def test_html_declared_encodings(tmp_path: Path):
    page = f'<meta charset="windows-874"><p>{THAI}</p>'
    assert read(tmp_path / "thai.html", page.encode("cp874")).text == THAI
    for wrong in ("us-ascii", "utf-16"):
        page = f'<meta charset="{wrong}"><p>{THAI}</p>'.encode()
        assert read(tmp_path / "wrong.htm", page + b" " * (len(page) % 2)).text == THAI
    unknown = f'<meta charset="klingon"><p>{CHINESE}</p>'
    assert read(tmp_path / "unknown.htm", unknown.encode()).text == CHINESE
    assert read(tmp_path / "wide.html", f"<p>{THAI}</p>".encode("utf-16")).text == THAI


def test_sizes_are_bounded(tmp_path: Path):
    for name in ("a.txt", "a.md", "a.html", "a.json", "a.pdf", "a.docx"):
        assert "at most" in refusal(written(tmp_path, name, b"x" * 101), ReadingLimits(text_bytes=100, html_bytes=100))


def test_a_short_first_line_heads_a_text(tmp_path: Path):
    for first, headings in (("Notice to all guests", ("Notice to all guests",)), ("word " * 40, ())):
        document = read(tmp_path / "notice-2023.txt", f"\n{first}\n\nThe key is at the farm.")
        assert (document.title, document.sections[0].headings) == ("notice-2023", headings)
