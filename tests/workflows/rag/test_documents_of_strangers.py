"""Documents made up on the spot, in every format: the right sentence is quoted, and every quote stands in its source."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from documents import make_docx, make_pdf
from ingesting import in_new_process, megabytes_to_ingest

from loopwright.retrieval.stores import open_store
from loopwright.workflows.rag import RAGConfig, Services, ask
from loopwright.workflows.rag.sources import IngestReport, ingest
from loopwright.workflows.rag.sources.reading import read_source

SYLLABLES = "ba dor kel lun mar nix or pra quil ras sel tov ul ven wis yar zan thel brim gor".split()
PLACES = ("harbour", "library", "bakery", "observatory", "laundry", "cinema", "nursery", "foundry", "garage", "museum")
FACTS = (
    ("Opening", "The {0} opened its doors in {1}.", "When did the {0} open?", "year"),
    ("Staff", "{1} people work at the {0} all year round.", "How many people work at the {0}?", "count"),
    ("Leadership", "The {0} is run by {1}, who came from the coast.", "Who runs the {0}?", "person"),
    ("Prices", "A day ticket for the {0} costs {1} euros.", "What does a day ticket for the {0} cost?", "price"),
    ("Contact", "Lost property of the {0} is kept in room {1}.",
     "In which room does the {0} keep lost property?", "room"),
)  # fmt: skip
FILLERS = (
    "Visitors are asked to leave bicycles at the gate.",
    "The roof was repaired after the storm, with help from the neighbours.",
    "Nobody remembers why the clock is painted green.",
    "A small garden lies behind the building.",
)
Place = tuple[str, list[tuple[str, str]]]


def name(rng: random.Random) -> str:
    return "".join(rng.choices(SYLLABLES, k=rng.choice((2, 3)))).capitalize()


def value(rng: random.Random, kind: str) -> str:
    return {
        "year": str(rng.randint(1700, 2020)),
        "count": str(rng.randint(3, 900)),
        "person": f"{name(rng)} {name(rng)}",
        "price": f"{rng.randint(2, 90)}.{rng.randint(10, 99)}",
        "room": f"{rng.choice('ABCDEF')}{rng.randint(100, 999)}",
    }[kind]


def write(rng: random.Random, path: Path, title: str, told: list[tuple[str, str]]) -> Path:
    """One document, its sentences in sections with headings, in paragraphs with others around them, or in a list."""
    layout = rng.choice(("sections", "paragraphs", "list"))
    told = rng.sample(told, len(told))
    if layout == "paragraphs":
        told = [(head, " ".join(rng.sample([sentence, rng.choice(FILLERS)], 2))) for head, sentence in told]
    if path.suffix == ".md":
        shown = {"sections": "\n## {0}\n\n{1}\n", "paragraphs": "\n{1}\n", "list": "- {1}\n"}[layout]
        head = f"# {title}\n\n![build](https://x.example/b.svg)\n\n"
        path.write_text(head + "".join(shown.format(*each) for each in told))
    elif path.suffix == ".html":
        html = {"sections": "<h2>{0}</h2><p>{1}</p>", "paragraphs": "<p>{1}</p>", "list": "<ul><li>{1}</li></ul>"}
        shown = html[layout]
        body = "".join(shown.format(*each) for each in told)
        menu = "<nav><a href=/>Home</a> <a href=/a>About</a></nav><script>var tracking = 1;</script>"
        path.write_text(f"<html><head><title>{title}</title></head><body>{menu}<h1>{title}</h1>{body}</body></html>")
    elif path.suffix == ".docx":
        blocks = [block for head, text in told for block in (((2, head), text) if layout == "sections" else (text,))]
        make_docx(path, [(1, title), *blocks])
    else:
        make_pdf(path, [f"{title}. {' '.join(text for _, text in told[:3])}", " ".join(text for _, text in told[3:])])
    return path


def world(rng: random.Random, folder: Path, places: int) -> Iterator[tuple[str, str]]:
    """Writes places with five facts each, and gives each fact's question with its answer."""
    rows: list[list[str]] = []
    for number in range(places):
        place = f"{name(rng)} {rng.choice(PLACES)}"
        facts = [(head, text, question, value(rng, kind)) for head, text, question, kind in FACTS]
        suffix = (".md", ".html", ".docx", ".pdf", ".csv")[number % 5]
        if suffix == ".csv":
            rows.append([place, *(f'"{answer}"' for *_, answer in facts)])
        else:
            write(
                rng, folder / f"{number}{suffix}", place, [(head, text.format(place, a)) for head, text, _, a in facts]
            )
        yield from ((question.format(place), answer) for _, _, question, answer in facts)
    header = ["name", "opened", "people who work there", "run by", "cost of a day ticket", "room of lost property"]
    (folder / "places.csv").write_text("\n".join(",".join(row) for row in (header, *rows)))


@pytest.mark.parametrize("places", [5, pytest.param(40, marks=pytest.mark.slow)])
def test_the_right_sentence_is_quoted_from_anyones_documents(places: int, tmp_path: Path) -> None:
    rng, folder = random.Random(1), tmp_path / "docs"
    folder.mkdir()
    questions = list(world(rng, folder, places))
    config = RAGConfig.load(None, {"rag.store": f"sqlite:{tmp_path}/k.db"}, {})
    with open_store(config.rag.store) as store:
        assert ingest([folder], store).problems == []
    texts = {document.id: document.text for path in folder.iterdir() for document in read_source(path)}
    right = 0
    with Services.of(config) as services:
        for question, answer in questions:
            said = ask(question, services=services).answer
            assert all(citation.quote in texts[citation.document_id] for citation in said.citations)
            assert "![" not in said.text and "About" not in said.text
            right += answer in said.short
    assert right / len(questions) >= 0.85


def test_a_folder_that_changes_while_it_is_read(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.txt").write_text(f"Text number {number} is here.")

    def change(progress: IngestReport) -> None:
        (tmp_path / "1.txt").unlink(missing_ok=True)
        (tmp_path / "2.txt").write_text("Text number two grew while nobody looked.")

    with open_store("memory") as store:
        report = ingest([tmp_path], store, on_progress=change)
        assert [Path(each.name).name for each in report.problems] == ["1.txt"]
        assert "is not there" in report.problems[0].problem
        assert [Path(document.id).name for document in store.documents()] == ["0.txt", "2.txt"]


PAGE = """<!DOCTYPE html><html lang="en"><head><title>Larch Valley Ferries</title><style>body {{color: red}}</style>
<script>window.dataLayer = ["ferry", "dog"]; {padding}</script></head><body>
<div role="dialog" class="consent">We and our 412 partners store cookies about ferries. <button>Accept</button></div>
<div role="navigation"><a href="/">Home</a> <a href="/ferries">Ferries</a> <a href="/dogs">Dogs and ferries</a></div>
<form role="search"><label>Search ferries</label><input></form>
<main><h1>Taking a dog on the ferry</h1><p>A dog travels on the ferry for 4.50, and sits on the upper deck.</p>
<table><tr><th>Ferry</th><th>Departs</th></tr><tr><td>Marigold</td><td>07:40</td></tr>
<tr><td>Sorrel</td><td>09:15</td></tr></table></main>
<p aria-hidden="true">ferry ferry ferry</p><footer>Larch Valley Ferries, Quay 3, telephone 555 0142</footer></body></html>"""
README = """# tidemark

[![CI](https://x.example/ci.svg)](https://x.example/ci) ![PyPI](https://x.example/pypi.svg)
<a href="https://x.example"><img src="https://x.example/licence.svg" alt="licence"></a>

Tidemark predicts tides. Install it with `pip install tidemark`; it needs Python 3.10.

| Option | Default | What it does |
|---|---|---|
| `--port` | 8421 | where the server of tidemark listens |
| `--cache` | 64 MB | memory for charts |
"""


FRENCH = "La boulangerie\n\nLe billet pour la boulangerie coûte 12,50 €. Éloïse Caron dirige la boulangerie."


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    """A web page, a readme, a table, and documents in German and French."""
    docs = tmp_path_factory.mktemp("docs")
    (docs / "ferries.html").write_text(PAGE.format(padding=""))
    (docs / "README.md").write_text(README)
    make_docx(docs / "rooms.docx", [(1, "Rooms"), [["Room", "Seats"], ["Heron", "14"], ["Plover", "6"]]])
    german = "Die Sternwarte wurde 1887 gegründet. Frau Hürlimann leitet sie."
    (docs / "sternwarte.md").write_text(f"# Sternwarte\n\n{german}")
    (docs / "boulangerie.txt").write_bytes(FRENCH.encode("cp1252"))
    with open_store("memory") as store:
        assert ingest([docs], store).problems == []
        yield Services(RAGConfig(), given_store=store)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What does a dog pay on the ferry?", "4.50"), ("When does the ferry Sorrel depart?", "09:15"),
        ("What is the telephone number of Larch Valley Ferries?", "555 0142"), ("Wer leitet die Sternwarte?", "Hürlimann"),
        ("Which Python does tidemark need?", "3.10"), ("On which port does the server of tidemark listen?", "8421"),
        ("How many seats does the room Heron have?", "14"), ("Wann wurde die Sternwarte gegründet?", "1887"),
        ("Combien coûte le billet pour la boulangerie ?", "12,50"), ("Qui dirige la boulangerie ?", "Éloïse"),
    ],
)  # fmt: skip
def test_documents_are_quoted_in_their_language_without_what_is_around_them(
    question: str, answer: str, services: Services
) -> None:
    said = ask(question, services=services).answer
    assert answer in said.text
    assert not any(noise in said.text for noise in ("cookies", "Home", "Search ferries", "svg", "](", "dataLayer"))


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_folder_of_200_megabytes_takes_no_more_memory_than_a_small_one(tmp_path: Path) -> None:
    peaks: list[float] = []
    for files in (5, 100):
        folder = tmp_path / f"{files}"
        folder.mkdir()
        for number in range(files):
            (folder / f"{number}.html").write_text(PAGE.format(padding=f"{number} " * 900_000))
            rows = (f'{{"text": "Boat {number}-{row} was built in Larch in {1700 + row}."}}' for row in range(40))
            (folder / f"{number}.jsonl").write_text("\n".join(rows))
        stored, peak = in_new_process(megabytes_to_ingest, str(folder), str(tmp_path / f"{files}.db"))
        assert stored == files * 41
        peaks.append(peak)
    assert sum(path.stat().st_size for path in folder.iterdir()) > 200e6
    assert peaks[1] < peaks[0] + 60
