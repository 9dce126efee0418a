"""The page: complete, harmless, readable without JavaScript, and alive in a real browser."""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import re
import shutil
import subprocess

import pytest
from report_pages import Tree

from loopwright.workflows.rag.export import Edge, Neighbourhood, Node, save_html
from loopwright.workflows.rag.export.layout import positions

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
ATTACKS = [
    "<script>document.documentElement.dataset.broken = 'yes'</script>",
    '"><img src=x onerror="document.documentElement.dataset.broken=\'yes\'">',
    "</title></style></script></svg><svg onload=document.documentElement.dataset.broken='yes'>",
    "{{ 7 * 7 }} {% raw %} javascript:alert(1) &lt;script&gt; ' \" ` \u202e \u2028",
]


def sample(text: str = "plain") -> Neighbourhood:
    nodes = (
        Node(
            id="passage:a",
            kind="passage",
            label=f"First {text}",
            text=f"All of the first: {text}",
            place=f"in {text}",
            asked_for=True,
            citations=(1,),
        ),
        Node(id="passage:b", kind="passage", label="Second", text="All of the second."),
        Node(id=f"entity:{text}", kind="entity", label=f"One {text}"),
        Node(id="entity:two", kind="entity", label="Two"),
        Node(id="entity:café", kind="entity", label="Café"),
    )
    edges = (
        Edge(source="passage:a", target=f"entity:{text}", kind="mention"),
        Edge(source="passage:b", target="entity:two", kind="mention"),
        Edge(
            source=f"entity:{text}",
            target="entity:two",
            kind="fact",
            relation=f"knows {text}",
            quote=f"quoted {text}",
            passage="passage:a",
            confidence=0.8,
        ),
        Edge(
            source="entity:two",
            target=f"entity:{text}",
            kind="fact",
            relation="likes",
            quote="it likes",
            passage="passage:b",
        ),
        Edge(
            source="entity:two",
            target="entity:two",
            kind="fact",
            relation="is itself",
            quote="itself",
            passage="passage:b",
        ),
    )
    return Neighbourhood(nodes=nodes, edges=edges, left_out=3)


def test_every_node_and_fact_stands_in_the_lists_and_every_link_leads_somewhere(tmp_path):
    path = save_html(sample(), tmp_path / "new" / "page.html", title="What it stands on")
    root = Tree(path.read_bytes().decode()).root
    assert root.one("title").words == root.one("h1").words == "What it stands on"
    items = {item.attributes["id"]: item.words for item in root.all("li.item")}
    assert set(items) == {*(f"n{n}" for n in range(5)), *(f"f{n}" for n in range(3))}
    assert "All of the first: plain" in items["n0"] and "[1]" in items["n0"] and "quoted plain" in items["f0"]
    targets = {link.attributes["href"] for link in root.all("a")}
    assert targets <= {f"#{name}" for name in items}
    assert len(root.all("a.box")) == 5 and all(box.attributes["aria-label"] for box in root.all("a.box"))
    # Two facts about the same two are one line without a direction; a fact of one entity about itself has none.
    (line,) = root.all("a.fact")
    assert line.attributes["data-facts"] == "0 1" and "marker-mid" not in str(
        [path.attributes for path in line.all("path")]
    )
    assert "3 linked nodes more are left out" in root.one("body").words


def test_the_page_allows_and_has_only_its_own_style_and_script(tmp_path):
    root = Tree(save_html(sample(), tmp_path / "p.html", title="t").read_bytes().decode()).root
    policy = next(meta.attributes["content"] for meta in root.all("meta") if "http-equiv" in meta.attributes)
    digests = [
        base64.b64encode(hashlib.sha256(root.one(tag).text.encode()).digest()).decode() for tag in ("style", "script")
    ]
    assert (
        policy
        == f"default-src 'none'; style-src 'sha256-{digests[0]}'; script-src 'sha256-{digests[1]}'; base-uri 'none'; form-action 'none'"
    )
    page = (tmp_path / "p.html").read_text(encoding="utf-8")
    assert not re.search(r"""(?:src|href)=["'](?!#)|url\((?!\#|"?\#)|@import|\sstyle=|\son\w+=""", page)


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_text_changes_the_elements_of_the_page(tmp_path, attack):
    calm = Tree(save_html(sample(), tmp_path / "calm.html", title="x").read_bytes().decode()).root
    hostile = Tree(save_html(sample(attack), tmp_path / "hostile.html", title=attack).read_bytes().decode()).root
    assert hostile.shape() == calm.shape()
    assert attack in hostile.one("h1").text


def test_the_same_neighbourhood_is_drawn_the_same(tmp_path):
    pages = [save_html(sample(), tmp_path / f"{n}.html", title="t").read_text(encoding="utf-8") for n in (1, 2)]
    first, second = (re.sub(r"<time.*?</time>", "", page) for page in pages)
    assert first == second


def test_an_empty_neighbourhood_says_so(tmp_path):
    root = Tree(save_html(Neighbourhood(nodes=(), edges=()), tmp_path / "e.html", title="t").read_bytes().decode()).root
    assert "nothing to show" in root.one("body").words and not root.all("svg")


@pytest.mark.parametrize("shape", ["star", "ring", "apart", "one", "pairs"])
def test_no_box_is_drawn_over_another(shape):
    count = 1 if shape == "one" else 40
    links = {
        "star": [(0, n) for n in range(1, count)],
        "ring": [(n, (n + 1) % count) for n in range(count)],
        "pairs": [(n, n + 1) for n in range(0, count - 1, 2)],
    }.get(shape, [])
    sizes = [(60.0 + 17 * (n % 9), 32.0) for n in range(count)]
    centres = positions(sizes, links)
    assert centres.shape == (count, 2)
    for left, right in itertools.combinations(range(count), 2):
        between = abs(centres[left] - centres[right])
        free = [between[axis] >= (sizes[left][axis] + sizes[right][axis]) / 2 for axis in (0, 1)]
        assert any(free), (left, right)


def rendered(page: str, tmp_path, script: str = "") -> str:
    """The page as a real browser has it after its script, and another one that the test allows, have run."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    page = page.replace("script-src '", f"script-src 'sha256-{digest}' '", 1)
    page = page.replace("</body>", f"<script>{script}</script></body>")
    file = tmp_path / "driven.html"
    file.write_text(page, encoding="utf-8")
    command = [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    profile = f"--user-data-dir={tmp_path / 'profile'}"
    done = subprocess.run(
        [*command, profile, "--dump-dom", file.as_uri()], capture_output=True, text=True, timeout=120, check=True
    )
    return done.stdout


def told(dom: str):
    found = re.search(r'data-told="([^"]*)"', dom)
    assert found, dom[:2000]
    return json.loads(found[1].replace("&quot;", '"').replace("&amp;", "&"))


browser = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")


@browser
def test_in_a_browser_hostile_texts_do_nothing_and_the_pages_own_script_runs(tmp_path):
    page = save_html(sample(" ".join(ATTACKS)), tmp_path / "h.html", title=ATTACKS[0]).read_text(encoding="utf-8")
    dom = rendered(page, tmp_path)
    assert 'class="live"' in dom
    assert "data-broken" not in dom.split("<body", 1)[0] and "<img" not in dom


@browser
def test_in_a_browser_boxes_can_be_chosen_searched_dragged_and_zoomed(tmp_path):
    script = """
      const graph = document.getElementById("graph"), boxes = [...document.querySelectorAll(".box")];
      const faint = () => boxes.map((box) => box.classList.contains("faint"));
      const details = () => document.getElementById("details").textContent.replace(/\\s+/g, " ");
      const told = {};
      boxes[0].dispatchEvent(new PointerEvent("pointerenter"));
      told.pointed = details();
      boxes[0].dispatchEvent(new PointerEvent("click", { bubbles: true, cancelable: true }));
      told.chosen = faint();
      document.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" }));
      told.freed = faint();
      const search = document.getElementById("search");
      search.value = "CAFE";
      search.dispatchEvent(new Event("input"));
      told.found = faint();
      told.listed = [...document.querySelectorAll(".lists .item")].filter((item) => !item.hidden).map((item) => item.id);
      search.value = "";
      search.dispatchEvent(new Event("input"));
      document.querySelector("a.line.fact").dispatchEvent(new PointerEvent("pointerenter"));
      told.fact = details();
      const drag = (kind, target, x, y) => target.dispatchEvent(
        new PointerEvent(kind, { bubbles: true, button: 0, pointerId: 1, clientX: x, clientY: y }));
      told.before = boxes[1].getAttribute("transform");
      drag("pointerdown", boxes[1], 100, 100); drag("pointermove", boxes[1], 160, 130); drag("pointerup", boxes[1], 160, 130);
      told.after = boxes[1].getAttribute("transform");
      const [x, y] = told.after.match(/-?[\\d.]+/g);
      told.line = [...document.querySelectorAll('.line[data-source="1"] path, .line[data-target="1"] path')]
        .every((path) => path.getAttribute("d").includes(`${x} ${y}`));
      const width = graph.viewBox.baseVal.width;
      document.getElementById("closer").click();
      told.zoomed = graph.viewBox.baseVal.width / width;
      document.getElementById("whole").click();
      told.whole = graph.viewBox.baseVal.width === width;
      document.documentElement.dataset.told = JSON.stringify(told);
    """
    page = save_html(sample(), tmp_path / "p.html", title="t").read_text(encoding="utf-8")
    seen = told(rendered(page, tmp_path, script))
    assert "All of the first: plain" in seen["pointed"]
    # The first passage names the entity with number 2 and nothing else.
    assert seen["chosen"] == [False, True, False, True, True] and not any(seen["freed"])
    assert seen["found"] == [True, True, True, True, False] and seen["listed"] == ["n4"]
    assert "quoted plain" in seen["fact"] and "it likes" in seen["fact"]
    assert seen["before"] != seen["after"] and seen["line"]
    assert seen["zoomed"] < 0.8 and seen["whole"]
