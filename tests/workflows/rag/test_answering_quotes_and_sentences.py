"""Sentence splitting, quote verification and the citations of a draft; all rules end on long input."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopwright.retrieval.names import entity_key, find_mentions
from loopwright.retrieval.records import Evidence
from loopwright.workflows.files.rst import as_markdown
from loopwright.workflows.rag.answer.citations import cite, verify_quote
from loopwright.workflows.rag.answer.reader import extract_answer
from loopwright.workflows.rag.answer.sentences import sentence_spans
from loopwright.workflows.rag.answer.verdict import grade_answer
from loopwright.workflows.rag.schemas import Answer

ALIEN = Evidence(
    id="alien", title="Alien (film)", text="Alien is a 1979 film. It was directed by Ridley Scott.", page=3
)
SCOTT = Evidence(
    id="scott",
    title="Ridley Scott",
    text="Sir Ridley Scott (born 30 November 1937) is a “director”—from South Shields, England.",
)


def all_hold(answer: Answer, evidence: list[Evidence]) -> bool:
    texts = {passage.id: passage.text for passage in evidence}
    numbers = [citation.number for citation in answer.citations]
    used = {number for sentence in answer.sentences for number in sentence.citations}
    stand = all(texts[each.evidence_id][each.start : each.end] == each.quote for each in answer.citations)
    return stand and numbers == list(range(1, len(numbers) + 1)) and used == set(numbers)


def test_a_quote_may_differ_only_in_white_space_and_typography() -> None:
    place = verify_quote('is a "director"-from  South\nShields', SCOTT.text)
    assert place is not None
    assert SCOTT.text[slice(*place)] == "is a “director”—from South Shields"
    for other in ("is a Director", "is a writer", " … "):
        assert verify_quote(other, SCOTT.text) is None
    assert verify_quote("是首都", "北京是首都。") == (2, 5)
    assert verify_quote("a b", "x a\n b y") == (2, 6)
    assert verify_quote("a.c", "abc a.c") == (4, 7)
    assert verify_quote("file: café, 'port'", "the ﬁle: cafe\u0301, **po\u00adrt**") == (4, 23)
    assert verify_quote("'on' Windows", "it's `on` Windows™ 11", whole_words=True) == (6, 17)
    assert verify_quote("a cafe", "a café", whole_words=True) is None


def test_what_nothing_bears_out_is_left_out_and_counted() -> None:
    draft = "Bananas are yellow [2]. Alien came out in 1999 [1]. Alien is a film [1][7, 2]. Nobody said this."
    answer = cite(draft, [ALIEN, SCOTT])
    assert answer.text == "Alien is a film. [1]"
    assert answer.left_out == ("Bananas are yellow.", "Alien came out in 1999.", "Nobody said this.")
    assert answer.removed_citations == 4 and all_hold(answer, [ALIEN, SCOTT]) and not grade_answer(answer).supported
    both = cite('Alien is a film [1] "Alien is a 1979 film". It was directed by Ridley Scott [1].', [ALIEN])
    assert [each.quote for each in both.citations] == ["Alien is a 1979 film", "It was directed by Ridley Scott."]
    assert not cite("1. Alien is a film [1].\n2. Ridley Scott directed it [1].", [ALIEN]).left_out
    assert cite("3. It was directed by Ridley Scott [1].", [ALIEN]).left_out
    cut = cite("Alien is a film [1]. It was made by …", [ALIEN])
    assert cut.text == "Alien is a film. [1] …" and not cut.left_out
    assert len(sentence_spans("## 2. Hours\n\nAm 3. Mai 2024 ist am 9. Tag zu. यह है। वह है।\n\nroom: C2\nfee: 3")) == 6
    assert len(sentence_spans("Room no. 8 is in Hauptstr. 12, see Art. 5. Take max. 20 pcs. He said no. 3 left.")) == 4
    short = "See Rn. 14, Bldg. 7 and Tbl. 3. It takes 5 hrs. 3 people watch TV. 2 do not. Ask the\nHarbour. 4 left."
    assert len(sentence_spans(short)) == 6
    assert len(sentence_spans("It ran.^3 It sat.” ² It fell.² Then 2.^3 is it.")) == 4
    assert len(sentence_spans("It rose.[4][b] It set.[^5] Due.<sup>6</sup> He paid.^1, 2 Use e.g.[3] The car.")) == 5


@pytest.mark.parametrize(
    "draft",
    [
        'Alien was directed by Ridley Scott [1] "directed by James Cameron".',
        'Alien was directed by Ridley Scott [1] "ted by Ridley".', 'Bananas are yellow [1] "directed by Ridley Scott".',
        'Ridley Scott directed it in 1986 [1] "directed by Ridley Scott".',
        'James Cameron directed Alien, a film [1] "It was directed by Ridley Scott."',
        'The text says "it was directed by James Cameron" about Alien the 1979 film [1].',
        'The text says of bananas "it was directed by Ridley Scott" in 1986 [1].',
    ],
)  # fmt: skip
def test_a_quote_excuses_no_other_check(draft: str) -> None:
    answer = cite(draft, [ALIEN])
    assert answer.citations == answer.sentences == () and answer.removed_citations == 1
    assert answer.left_out and not answer.abstained


@pytest.mark.parametrize(
    ("draft", "source", "holds"),
    [
        ("Yes, pets are allowed in the office", "Pets are not allowed in the office.", False),
        ("Beta was never sold to Gamma", "Beta was sold to Gamma in 1992.", False),
        ("Haustiere sind im Büro erlaubt", "Haustiere sind im Büro nicht erlaubt.", False),
        ("No, the shop is closed on Sundays", "The shop is closed on Sundays.", True),
        ("Pets are forbidden in the office", "Pets are not allowed in the office.", True),
        ("Overtime is compensated with time off", "Overtime is not paid, but compensated with time off.", True),
        ("Parking is free", "Parking is not free.", False),
        ("Das Museum ist montags nicht geöffnet", "Das Museum ist dienstags geöffnet, montags geschlossen.", True),
        ("If no file is given, the tool reads standard input", "The tool reads standard input; a file is given.", True),
        ("Do not store the drug above 25 degrees", "Store the drug below 25 degrees.", True),
        ("The tower has 12 floors without the basement", "The tower has 12 floors plus a basement.", True),
        ("The town has no airport; the nearest airport is Hill", "The nearest airport to the town is Hill.", True),
        ("The bridge is no longer open to cars", "The bridge was open to cars from 1890 to 1990.", True),
    ],
)
def test_a_sentence_may_not_say_the_opposite_of_its_source(draft: str, source: str, holds: bool) -> None:
    assert bool(cite(f"{draft} [1].", [Evidence(id="a", title="", text=source)]).sentences) is holds


def test_lists_code_and_ranges_of_a_draft_stay_as_they_are() -> None:
    found = [Evidence(id="a", title="", text="Run `dnf install widget` and then `systemctl enable widget`.")]
    listed = "- Then enable widget [1]\n- Run dnf [1]"
    code = "```sh\ndnf install widget\n\nsystemctl enable widget\n```"
    answer = cite(f"Run dnf install widget [1-3]:\n\n{code}\n\n{listed}\nNobody said so.", found)
    assert answer.text == f"Run dnf install widget: [1]\n\n{code}\n\n[1]\n\n{listed}"
    assert answer.left_out == ("Nobody said so.",) and answer.removed_citations == 2


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("```sh\ndnf widget\n``` ", "```sh\ndnf widget\n```"),
        ("```sh\r\ndnf widget\r\n```\r", "```sh\r\ndnf widget\r\n```"),
        ("````\ndnf widget\n````", "````\ndnf widget\n````"),
        ("  ```\n  dnf widget\n  ```", "  ```\n  dnf widget\n  ```"),
        ("- ```\n  dnf widget\n  ```", "- ```\n  dnf widget\n  ```"), ("```dnf``` widget [1].", "```dnf``` widget."),
    ],
)  # fmt: skip
def test_code_ends_where_its_fence_does(code: str, shown: str) -> None:
    found = [Evidence(id="a", title="", text="Run dnf widget.")]
    answer = cite(f"Run dnf widget [1]:\n{code}\nRun widget [1].", found)
    assert [each.text for each in answer.sentences] == ["Run dnf widget:", shown, "Run widget."]
    assert cite("Run dnf widget [1]:\n```\ndnf widget", found).sentences[1].text == "```\ndnf widget\n```"
    assert cite("Run dnf widget [1-999].", found).removed_citations == 1


def test_a_draft_that_answers_does_not_abstain() -> None:
    assert not cite("The documents do not mention a delay; Ridley Scott directed Alien [1].", [ALIEN]).abstained
    assert not cite("No answers were given by Alien.", [ALIEN]).abstained


@pytest.mark.parametrize("draft", ["", "I don't know.", "I don't know", "ไม่ทราบ", "我不知道。", "[1]"])
def test_a_draft_that_gives_no_answer_abstains(draft: str) -> None:
    assert cite(draft, [ALIEN]).abstained


def test_drafts_in_chinese_and_thai_are_bound() -> None:
    beijing = Evidence(id="b", title="北京", text="上海很大。北京是中华人民共和国的首都，人口约2189万。")
    answer = cite("北京是中华人民共和国的首都[1]。北京人口约2189万。[1] 北京人口约9999万[1]。", [beijing])
    assert [len(sentence.citations) for sentence in answer.sentences] == [1, 1]
    assert answer.left_out == ("北京人口约9999万。",) and answer.citations[0].quote.startswith("北京是")
    bangkok = Evidence(id="t", title="กรุงเทพมหานคร", text="กรุงเทพมหานครเป็นเมืองหลวงของประเทศไทย")
    assert cite("กรุงเทพมหานครเป็นเมืองหลวงของไทย [1]", [bangkok]).citations[0].quote == bangkok.text


@given(
    st.lists(
        st.sampled_from(["Alien", "Scott", "1979", "film.", "[1]", "[2]", "[1, 9]", "was", "born", "directed", "."]),
        max_size=20,
    )
)
def test_every_citation_of_every_draft_stands_in_its_source(parts: list[str]) -> None:
    answer = cite(" ".join(parts), [ALIEN, SCOTT])
    assert all_hold(answer, [ALIEN, SCOTT])


@given(
    st.lists(st.text(alphabet="Alien Scott 1979 directed.。กข中文 \n", max_size=80), max_size=4),
    st.sampled_from(["Who directed Alien?", "Is Scott or Alien older?", "中文", "กข ใคร", "Scott 1979?", ""]),
)
def test_every_citation_of_the_reader_stands_in_its_source(texts: list[str], question: str) -> None:
    evidence = [Evidence(id=str(number), title="Alien", text=text) for number, text in enumerate(texts)]
    answer = extract_answer(question, evidence)
    assert answer.abstained or answer.citations
    texts = {each.id: each.text for each in evidence}
    assert all(texts[each.evidence_id][each.start : each.end] == each.quote for each in answer.citations)


LENGTH = 20_000


def long(piece: str) -> str:
    return piece * (LENGTH // len(piece))


@pytest.mark.matrix(3)
@pytest.mark.parametrize(
    "piece", ["no ", "```\n", ":a:", "[1", "1", "1,", "1,111,", "1999 1 ", ".", '."', " ", "(", "(ab)", "The ", "A of "]
)
def test_every_rule_ends_on_a_repeated_piece(piece: str) -> None:
    text = f"x{long(piece)}x"
    evidence = [Evidence(id="a", title="a", text=text)]
    assert sentence_spans(text)[0][0] == 0 and as_markdown(text).startswith("x")
    assert cite(text, evidence).citations == ()
    assert extract_answer(f"How many days are Alpha and Beta both {text}!", evidence).confidence <= 1
    assert entity_key(text).startswith("x")
    assert all(end - start <= 200 for start, end in find_mentions(text))


def test_a_long_title_in_a_long_text_is_no_name() -> None:
    assert find_mentions(long("x "), title=f"{long('x ')}y") == []
