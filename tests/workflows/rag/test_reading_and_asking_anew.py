"""What titles, tables, rows, chats and numbers mean, where a first reading of them took them for something else."""

import time
from dataclasses import replace
from pathlib import Path

import docx
from documents import make_docx, make_pdf, written
from knowledge import BRIDGES, rag
from search_server import closed_port

from loopwright.retrieval.records import Evidence
from loopwright.retrieval.text import terms
from loopwright.workflows.rag import ask
from loopwright.workflows.rag.answer.citations import cite, is_row
from loopwright.workflows.rag.answer.reader import ANSWERED, extract_answer
from loopwright.workflows.rag.answer.sentences import sentence_spans
from loopwright.workflows.rag.answer.units import shown, units_of
from loopwright.workflows.rag.nodes.searching import numbered
from loopwright.workflows.rag.question.forms import asked_words, corrected, lexicon_of
from loopwright.workflows.rag.question.routing import route_of, web_query
from loopwright.workflows.rag.question.standalone import standalone_question
from loopwright.workflows.rag.sources.reading import ReadDocument, passages_of, read_source
from loopwright.workflows.rag.workflow import names_of

OTHERS = ["The zoo is closed in winter.", "Nobody knows why the clock is green."]


def passages(*texts: str) -> list[Evidence]:
    return [Evidence(id=str(n), text=text, title="t", document_id=f"/{n}") for n, text in enumerate(texts)]


def read(folder: Path, name: str, content: str | bytes) -> ReadDocument:
    return next(read_source(written(folder, name, content)))


def test_a_word_that_a_sample_lacks_is_itself_before_it_is_another() -> None:
    (word,) = asked_words("Marigolda?", lexicon := lexicon_of(passages("The marigold leaves at noon."))).values()
    assert corrected("Marigolda?", lexicon) is corrected("Marigolda?", lexicon)  # to compare all words takes long
    assert word.forms["marigolda"] == 1 > word.forms["marigold"]
    german = lexicon_of(passages("Die Mitgliederversammlung beginnt am Abend und dauert lange."))
    assert "mitgliederversammlung" in asked_words("Wann ist die Versammlung?", german)["versammlung"].forms


def test_one_heading_of_several_is_no_title(tmp_path: Path) -> None:
    blocks = [(1, "Berlin"), "Phone 1.", (1, "Munich"), "Phone 2."]
    (word,) = read_source(make_docx(tmp_path / "offices.docx", blocks))
    md = read(tmp_path, "offices.md", "# Berlin\n\nPhone 1.\n\n# Munich\n\nPhone 2.\n")
    html = read(tmp_path, "offices.html", "<h1>Berlin</h1><p>Phone 1.</p><h1>Munich</h1><p>Phone 2.</p>")
    assert [each.title for each in (word, md, html)] == ["offices"] * 3


def test_to_name_the_web_is_not_to_ask_for_it_and_without_an_engine_the_documents_are_asked() -> None:
    own = (
        "Can guests use the internet?; Is our list on the web?; check net salary; check the webcam; Google Drive: how?; "
        "Can guests bring dogs and use the internet?"
    )
    assert {route_of(question) for question in own.split("; ")} == {"knowledge_graph_retrieval"}
    assert web_query("Who won? Please search the web.") == web_query("Who won? Use the web.") == "Who won?"
    assert web_query("Look up Ada King online and tell me when she died") == "Ada King when she died"
    for web in (None, f"http://127.0.0.1:{closed_port()}"):
        services = rag(BRIDGES, web=web, pipeline={"retry": {"initial_wait": 0.01}})
        result = ask("Search the web: who designed the Tower Bridge?", services=services)
        assert "knowledge_graph_retrieval" in result.path and "Horace Jones" in result.answer.text


def test_tables_are_kept_apart_and_their_rows_whole(tmp_path: Path) -> None:
    path = make_docx(tmp_path / "two.docx", [[["Item", "Price"], ["A", "1"]], "", [["Name", "Phone"], ["Ada", "5"]]])
    assert next(read_source(path)).text == "Item | Price\nA | 1\n\nName | Phone\nAda | 5"
    document = docx.Document(str(path))
    hall, _ = document.tables[0].add_row().cells
    hall.merge(document.tables[0].add_row().cells[0]).text = "Hall"
    document.tables[0].rows[0].cells[0].merge(document.tables[0].rows[0].cells[1]).text = "Both"
    document.save(str(path))
    assert next(read_source(path)).text.startswith("Both\n\nA | 1\nHall |\nHall |\n")
    html = (
        "<table><tr><th></th><th>Mo</th><th>Tu</th></tr><tr><th rowspan=2>Hall</th><td><p>9</p></td><td>1<br>2</td></tr>"
        "<tr><td colspan=2>shut</td></tr></table><p></p><table><tr><td>a</td><td>b</td></tr></table>"
    )
    assert read(tmp_path, "t.html", html).text == "| Mo | Tu\nHall | 9 | 1 2\nHall | shut | shut\n\na | b"


def test_a_row_like_the_others_is_no_header_empty_cells_are_cells_and_rulers_stay(tmp_path: Path) -> None:
    pairs, corner = "Phone | 555 0142\nFax | 555 0143", " | 2023\nHall | 5\n | 7"
    assert shown(pairs, units_of(pairs)) == "Phone, 555 0142\nFax, 555 0143"
    assert shown(corner, units_of(corner)) == "|  | 2023 |\n| --- | --- |\n| Hall | 5 |\n|  | 7 |"
    grid = "+---+---+\n| a | b |\n+===+===+\n| 1 | 2 |\n+---+---+\n"
    assert read(tmp_path, "g.rst", grid).text == "| a | b |\n|---|---|\n| 1 | 2 |\n"


def test_a_chat_keeps_what_was_left_unsaid_and_its_own_words_say_more() -> None:
    chat = ["What does a ticket for the Marigold cost?", "12 euros.", "And for children?", "6 euros."]
    assert "Marigold" in standalone_question("And for dogs?", chat)
    words = asked_words("Does it rain in Bergen? (Marigold)", lexicon_of(passages("Rain in Bergen. Marigold.")))
    assert words["marigold"].rarity < 1 < words["bergen"].rarity
    left_out = asked_words("Who besides Ada King worked on the Marigold?", lexicon_of(passages("Ada King.")))
    assert {"work", "marigold"} <= left_out.keys() and left_out.keys().isdisjoint({"ada", "king"})
    kept = asked_words("What does the except clause do? What sets Paxos apart from Raft?", lexicon_of(passages("x")))
    assert {"claus", "raft"} <= kept.keys()


def test_models_see_headings_and_may_repeat_their_numbers() -> None:
    row = Evidence(id="1", text="Boat | 03 | 1.200", title="Prices", heading="Prices > 2024 > Name | Cost")
    assert "Prices > 2024 > Name | Cost: Boat | 03 | 1.200" in numbered([row])
    assert cite("The boat cost 3 or 1,200 in 2024 [1].", [row]).sentences
    spaced = Evidence(id="2", text="The boat cost 1\u202f200 pounds.", title="Prices")
    assert all(cite(f"The boat cost {told} pounds [1].", [spaced]).sentences for told in ("1,200", "1 200"))


def test_a_row_is_one_statement_and_a_sign_in_a_path_makes_none() -> None:
    text = "Room: 204\nPrinter: HL\nToner: 55X"
    row = Evidence(id="1", document_id="/C#/ink.csv#7", title="ink", heading="ink", text=text)
    assert cite("Toner 55X goes into the HL in room 204 [1].", [row]).sentences
    told = extract_answer("Is toner 55X in room 204?", [replace(row, text=f"{text}\nAt: Wallstr. 12")])
    assert told.short.endswith("12")
    # The names of columns are in all rows, and tell none from another.
    other = replace(row, id="2", document_id="/C#/ink.csv#8", text="Room: 7\nPrinter: LX\nToner: 9")
    both = extract_answer("Which room has a printer with ink toner?", [row, other])
    assert not both.short and both.confidence >= ANSWERED and other.text in both.text
    twice = extract_answer("Which rooms have the printer HL?", [row, replace(other, text=text.replace("204", "7"))])
    assert not twice.short and twice.confidence >= ANSWERED
    open_now = [replace(each, text=f"{each.text}\nWorks: no") for each in (row, other)]
    assert extract_answer("Which room has a printer with ink toner that works?", open_now).confidence < ANSWERED
    assert extract_answer("Which room has a printer with ink toner?", [row]).short
    asked, lower = "Which toner goes into the printer HL of room 204?", replace(row, text=text.lower())
    assert extract_answer(asked, [row]).confidence == extract_answer(asked, [lower]).confidence
    assert is_row(row) and not is_row(replace(row, document_id="/C#/ink.md"))
    assert names_of(row.document_id) == (row.document_id, "7", "/C#/ink.csv", "ink.csv")


def test_of_a_faq_the_answer_is_quoted_and_of_a_list_what_stands_under_all_the_headings() -> None:
    faq = "How do I book a boat?\nCall the office.\nHow do I cancel a boat?\nWrite to the harbour two days before."
    assert extract_answer("How do I book a boat?", passages(faq)).short == "Call the office."
    assert not extract_answer("How do I book a boat?", passages(f"{faq[:63]}{'Go. ' * 150}")).text.endswith("boat? [1]")
    leaflet = (
        "1. What Velt is used for\n\nIt is used against hives. It works at once.\n\n2. Food and alcohol\n\nIt can be taken "
        "with or without a meal. Avoid alcohol.\n\nCosts and repairs\n\nThe pump broke in May. It cost 90 euros to mend."
    )
    gate = "Keys\n\nAsk Bo. He has them.\n\nGates\n\nNorth Mill Lane\n\nThe gate code is 4711\n\n- Shut the gate\n- Feed Rex"
    chair = "Ada Lind is the new chair\n\nShe takes over in May. The old chair stays on the board."
    rent = "Die Miete liegt bei 850 Euro."
    bleach = "Do not mix bleach with vinegar\n\nThe fumes are toxic. Open the windows."
    night = "Plätze gibt es ab 15. März.\n\nVon 22 Uhr bis 7 Uhr ist Nachtruhe."
    pool, dogs = "Rooms 7 and 9 are accessible. The pool is not.", "Les chiens sont admis."
    cake = "Cocoa is in the cake. Add 75g of cocoa to the cake. Heat the cake to 180 °C. Leave it for an hour."
    hall = "Which hall is open to guests?\nBoth.\nIs the hall open to all?\nIt is not.\nWho pays?\nGuests."
    for text, question, short in ((hall, "Which hall is open to guests?", "Both."), (night, "Wann ist Nachtruhe?", night[29:]), (cake, "How hot is the cake?", cake[52:76]),
                                  (cake, "How long do I leave it?", cake[77:]),
                                  (cake, "How much cocoa is in the cake?", cake[22:51]),
                                  (f"For wheelchair users?\n{pool}", "Is the pool accessible for wheelchair users?", pool),
                                  (leaflet, "What is Velt used for?", "It is used against hives."),
                                  (leaflet, "Is alcohol with Velt food?", "Avoid alcohol."),
                                  (leaflet, "What did the pump that broke in May cost?", "It cost 90 euros to mend."),
                                  (gate, "What is the gate code?", "The gate code is 4711"),
                                  (f"{dogs} Les chats ne sont pas admis.", "Les chiens sont-ils admis ?", dogs),
                                  (f"{pool[:29]}\n\nNo pool is hot.", "Are rooms 7 and 9 by the pool accessible?", pool[:29]),
                                  (chair, "Who is the new chair?", chair[:25]),
                                  (bleach, "What must I not mix with bleach?", ""),
                                  (f"Die Miete ist im Voraus fällig. {rent}", "Wie viel ist die Miete?", rent)):  # fmt: skip
        assert extract_answer(question, passages(text)).short == short
    assert extract_answer("Which keys are there in Mill Lane?", passages(gate)).confidence < ANSWERED
    invoice = passages("Invoice no. 7\n\nItem | Total\nOak | 539.00\nTo pay | 848.47")
    assert extract_answer("What is the total to pay on invoice 7?", invoice).short == "To pay | 848.47"
    council = replace(passages("The club objects. Staff park at Mill Lane.")[0], heading="Meeting of 3 February")
    assert not extract_answer("Who attended the meeting on 3 February?", [council]).short
    never = replace(council, text="First class is never reimbursed.", heading="Flights")
    always = replace(never, id="1", text="First class is reimbursed for long journeys.", heading="Trains")
    assert not extract_answer("Is first class reimbursed?", [always, never]).short
    narrow = replace(never, text="First class is not reimbursed to interns.")
    assert extract_answer("Is first class reimbursed?", [always, narrow]).short == always.text
    depths = f"The pool is {'long and ' * 44}deep. The hall is open from 4 June. The pool is open from 3 May."
    assert "3 May" in extract_answer("When is the pool open?", passages(depths)).text
    roast = replace(council, title="Peanut butter", text="Roast the peanuts for ten minutes, then grind the butter.")
    assert not extract_answer("How long does peanut butter keep?", [roast]).short
    boats = replace(council, text=f"It sinks. {'Go. ' * 150}Boats need the harbour.", heading="Why do boats need it?")
    assert "It sinks." in extract_answer("Why do boats need it?", [boats]).text
    warranty = replace(passages("Three years in all. For hotels it is one.")[0], heading="How long is the warranty?")
    assert extract_answer("How long is the warranty?", [warranty]).short == warranty.text
    listed = "# Contacts\n\n## Berlin\n### Phone\n- 030 111\n\n## Hamburg\n### Phone\n- 040 222\n\n## 3.1.4\n- News\n"
    assert extract_answer("Phone of Hamburg?", passages(listed)).short.endswith("040 222")
    asked = ("3.1.4", "1.3.4", "3.1.40")
    assert [extract_answer(f"What is the news in {of}?", passages(listed)).short for of in asked] == ["News", "", ""]


def test_the_header_of_a_csv_is_found_and_a_column_named_text_is_one_of_several(tmp_path: Path) -> None:
    priced = read(tmp_path, "a.csv", "Prices 2024;;\nItem;Price;Note\nTea;1,20;x\n")
    assert priced.text == "Item: Tea\nPrice: 1,20\nNote: x"
    assert read(tmp_path, "b.tsv", "Item\tPrice\nTea\t1,20\n").text == "Item: Tea\nPrice: 1,20"
    assert read(tmp_path, "b.csv", "sep=;\nItem;Price\nTea;1,20\n").text == "Item: Tea\nPrice: 1,20"
    assert read(tmp_path, "c.csv", "Datum;Text;Betrag\n2024-01-02;Rent;-500\n").text.endswith("betrag: -500")


def test_long_texts_take_time_in_proportion(tmp_path: Path) -> None:
    lines = "\n\n".join(f"A{n} | b c\nd{n} | e f" for n in range(12_000))
    rows = read(tmp_path, "l.txt", lines + f" | {'a' * 600}" * 9_000)
    begun = time.process_time()
    assert passages_of(rows) and sentence_spans("A line of some kind and more\n" * 40_000 + "นา " * 170_000)
    assert time.process_time() - begun < 3


def test_a_number_and_its_unit_are_the_same_with_a_space_and_without() -> None:
    for asked, told in (("10kg", "10 kg"), ("10 kg", "10kg")):
        found = passages(f"Parcels up to {told} travel free.", *OTHERS)
        assert extract_answer(f"What travels free up to {asked}?", found).short.startswith("Parcels")


def test_characters_are_what_they_mean(tmp_path: Path) -> None:
    page = '<meta charset="iso-8859-1"><p>Müller – 5 €</p>'
    assert [read(tmp_path, "c.html", page.encode(of)).text for of in ("utf-8", "cp1252")] == ["Müller – 5 €"] * 2
    assert terms("Kündi\u00adgung") == terms("Kündigung")
    (pdf,) = read_source(make_pdf(tmp_path / "h.pdf", ["The infor-\nmation is well-\nknown. Cost-\neffective."]))
    assert pdf.text == "The information is well-known. Cost-effective."


def test_copies_and_comparisons() -> None:
    copies = passages("The boat fee is 12 euros.", "The boat fee is 12 euros.", *OTHERS)
    assert extract_answer("What is the boat fee?", copies).text.count("12 euros") == 1
    years = passages("Cider price in 2024, after 2023: 4 euros.", "Cider price in 2023: 3 euros.", *OTHERS)
    assert "3 euros" in extract_answer("cider price 2023 vs 2024", years).text
