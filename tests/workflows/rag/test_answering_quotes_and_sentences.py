"""Sentence splitting, quote verification and the citations of a draft."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopwright.workflows.rag.answer.citations import cite
from loopwright.workflows.rag.answer.quotes import verify_quote
from loopwright.workflows.rag.answer.reader import extract_answer
from loopwright.workflows.rag.answer.sentences import sentence_spans
from loopwright.workflows.rag.answer.verdict import grade_answer
from loopwright.workflows.rag.schemas import Answer, Evidence

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
    return (
        all(
            texts[citation.evidence_id][citation.start : citation.end] == citation.quote
            for citation in answer.citations
        )
        and numbers == list(range(1, len(numbers) + 1))
        and used == set(numbers)
    )


@given(st.text(alphabet="ab A.?!。 \n1กข中“”'\"", max_size=120))
def test_spans_are_exact_ordered_and_lose_nothing(text: str) -> None:
    spans = sentence_spans(text)
    assert all(text[start:end] == text[start:end].strip() != "" for start, end in spans)
    assert all(left[1] <= right[0] for left, right in pairwise(spans))
    assert "".join("".join(text[start:end].split()) for start, end in spans) == "".join(text.split())


def test_a_quote_may_differ_only_in_white_space_and_typography() -> None:
    place = verify_quote('is a "director"-from  South\nShields', SCOTT.text)
    assert place is not None
    assert SCOTT.text[slice(*place)] == "is a “director”—from South Shields"
    assert verify_quote("is a Director", SCOTT.text) is None
    assert verify_quote("is a writer", SCOTT.text) is None
    assert verify_quote(" … ", SCOTT.text) is None
    assert verify_quote("是首都", "北京是首都。") == (2, 5)
    assert verify_quote("a b", "x a\n b y") == (2, 6)
    assert verify_quote("a.c", "abc a.c") == (4, 7)


@given(st.text(max_size=60), st.integers(0, 60), st.integers(0, 60))
def test_every_stretch_of_a_text_is_found_in_it(text: str, start: int, end: int) -> None:
    quote = text[start:end]
    place = verify_quote(quote, text)
    if any(character.isalnum() for character in quote):
        assert place is not None
        assert text[slice(*place)].strip() == quote.strip()
    else:
        assert place is None


def test_a_draft_keeps_the_citations_that_hold() -> None:
    draft = "Alien was directed by Ridley Scott [1]. He was born on 30 November 1937 in South Shields. [2]"
    answer = cite(draft, [ALIEN, SCOTT])
    assert [citation.quote for citation in answer.citations] == ["It was directed by Ridley Scott.", SCOTT.text]
    assert [sentence.citations for sentence in answer.sentences] == [(1,), (2,)]
    assert answer.text.startswith("Alien was directed by Ridley Scott. [1]")
    assert answer.citations[0].page == 3
    assert answer.removed_citations == 0
    assert all_hold(answer, [ALIEN, SCOTT])
    assert grade_answer("Who directed Alien?", answer, [ALIEN, SCOTT]).supported


def test_what_nothing_bears_out_is_left_out_and_counted() -> None:
    draft = "Bananas are yellow [2]. Alien came out in 1999 [1]. Alien is a film [1][7, 2]. Nobody said this."
    answer = cite(draft, [ALIEN, SCOTT])
    assert answer.text == "Alien is a film. [1]"
    assert answer.left_out == ("Bananas are yellow.", "Alien came out in 1999.", "Nobody said this.")
    assert answer.removed_citations == 4
    assert all_hold(answer, [ALIEN, SCOTT])
    assert not grade_answer("What is Alien?", answer, [ALIEN, SCOTT]).supported


def test_a_given_quote_decides() -> None:
    held = cite('ผู้กำกับคือริดลีย์ สก็อตต์ [1] "directed by Ridley Scott"', [ALIEN])
    assert held.citations[0].quote == "directed by Ridley Scott"
    assert '"' not in held.text
    both = cite(
        'Alien was directed by Ridley Scott [1] "It was directed by Ridley Scott". It is from 1979. [1] "a 1979 film"',
        [ALIEN],
    )
    assert [citation.quote for citation in both.citations] == ["It was directed by Ridley Scott", "a 1979 film"]


@pytest.mark.parametrize(
    "draft",
    [
        'Alien was directed by Ridley Scott [1] "directed by James Cameron".',
        'Alien was directed by Ridley Scott [1] "ted by Ridley".',
        'Bananas are yellow [1] "directed by Ridley Scott".',
        'Ridley Scott directed it in 1986 [1] "directed by Ridley Scott".',
        'James Cameron directed Alien, a film [1] "It was directed by Ridley Scott."',
        'The text says "it was directed by James Cameron" about Alien the 1979 film [1].',
        'The text says of bananas "it was directed by Ridley Scott" in 1986 [1].',
    ],
)
def test_a_quote_excuses_no_other_check(draft: str) -> None:
    answer = cite(draft, [ALIEN])
    assert answer.citations == answer.sentences == ()
    assert answer.removed_citations == 1
    assert answer.left_out and not answer.abstained


@pytest.mark.parametrize(
    "draft",
    [
        "The documents do not mention a delay; Alien was directed by Ridley Scott [1].",
        "No answers were given by Alien, a film [1].",
        "No answers were given by Alien.",
    ],
)
def test_a_draft_that_answers_does_not_abstain(draft: str) -> None:
    assert not cite(draft, [ALIEN]).abstained


@pytest.mark.parametrize("draft", ["", "I don't know.", "I don't know", "ไม่ทราบ", "我不知道。", "[1]"])
def test_a_draft_that_gives_no_answer_abstains(draft: str) -> None:
    assert cite(draft, [ALIEN]).abstained


def test_drafts_in_chinese_and_thai_are_bound() -> None:
    beijing = Evidence(id="b", title="北京", text="上海很大。北京是中华人民共和国的首都，人口约2189万。")
    answer = cite("北京是中华人民共和国的首都[1]。北京人口约2189万。[1] 北京人口约9999万[1]。", [beijing])
    assert [len(sentence.citations) for sentence in answer.sentences] == [1, 1]
    assert answer.left_out == ("北京人口约9999万。",)
    assert answer.citations[0].quote.startswith("北京是")
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
