"""Reading a query by rules: many queries, and the traps."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from loopwright.errors import InputError, PlannerError, UnknownNameError
from loopwright.workflows.iqa.distortions import ALIASES, known_distortions, parse_distortion
from loopwright.workflows.iqa.query.reading import MAX_QUERY, named_distortions, parse_options, parse_region, read_query
from loopwright.workflows.iqa.tools.registry import all_tools

SCORING = [
    "Rate this image",
    "RATE IT!!",
    "How good is the photo?",
    "how   good\nis it",
    "What is the quality of this picture?",
    "what's the image quality like?",
    "Please score this photo on a scale of 1 to 5.",
    "Assess the image quality.",
    "quality of the sky and the dog",
    "What is the overall quality score?",
    "What is the PSNR?",
    "Use PSNR and SSIM to rate it",
    "Compute the gmsd of this image",
]
EXPLANATION = [
    "What is wrong with it?",
    "Why is the score low?",
    "is the car sharp?",
    "Explain the quality of this image",
    "Describe the noise in the image with NIQE",
    "What is the bit rate of this file?",
    "How sharp is the cat?",
    "Was the colour grade wrong?",
    "What are the main distortions in this image?",
]


@pytest.mark.parametrize("query", SCORING)
def test_scoring(query):
    assert read_query(query).answer_mode == "scoring"


@pytest.mark.parametrize("query", EXPLANATION)
def test_explanation(query):
    assert read_query(query).answer_mode == "explanation"


OPTIONS = [
    ("Which? A. blur B. noise", {"A": "blur", "B": "noise"}),
    ("Which? A) blur B) noise", {"A": "blur", "B": "noise"}),
    ("Which? (A) blur (B) noise", {"A": "blur", "B": "noise"}),
    ("Which?\nA. Blur\nB. Noise\nC. Cannot tell", {"A": "Blur", "B": "Noise", "C": "Cannot tell"}),
    ("Which?\r\n(A) Blur\r\n(B) Noise\r\n", {"A": "Blur", "B": "Noise"}),
    ("a) blur b) noise", {"A": "blur", "B": "noise"}),
    ("A.blur B.noise", {"A": "blur", "B": "noise"}),
    ("Options: A) blur, B) noise, or C) cannot tell", {"A": "blur", "B": "noise", "C": "cannot tell"}),
    ("**A.** blur\n**B.** noise", {"A": "blur", "B": "noise"}),
    ("- A) blur\n- B) noise", {"A": "blur", "B": "noise"}),
    ("Option A: blur\nOption B: noise", {"A": "blur", "B": "noise"}),
    ("A) blur B) noise D) jpeg", {"A": "blur", "B": "noise", "D": "jpeg"}),
    ("Which? (A) blur (B) noise. Answer with (A) or (B).", {"A": "blur", "B": "noise"}),
    ("Which?\nA) blur\nB) noise\nAnswer with one letter.", {"A": "blur", "B": "noise"}),
    ("A) blur and noise B) neither", {"A": "blur and noise", "B": "neither"}),
    ("A)\nblur\nB)\nnoise", {"A": "blur", "B": "noise"}),
    ("Cannot tell", {}),
    ("Is it sharp, or can you not tell? A) yes B) no", {"A": "yes", "B": "no"}),
    ("Answer with A) or B): is it blurry?", {}),
    ("Is plan A. better?", {}),
    ("(A) is the only one", {}),
    ("B) noise C) jpeg", {}),
    ("Taken by J. R. A. Smith and B. Jones. Is it sharp?", {}),
    ("Image A: pristine. Image B: compressed. Which is better?", {}),
    ("", {}),
]


@pytest.mark.parametrize(("query", "options"), OPTIONS)
def test_options(query, options):
    found = parse_options(query)
    assert found == options
    assert list(found) == sorted(found)


def test_cannot_tell_is_no_letter():
    assert "C" not in parse_options("A) blur B) noise, or cannot tell")
    assert parse_options("A) blur B) cannot tell C) noise") == {"A": "blur", "B": "cannot tell", "C": "noise"}


def test_one_letter_for_two_options_is_refused():
    with pytest.raises(PlannerError, match="two options B: 'noise'"):
        parse_options("A) blur B) noise B) jpeg")


@given(
    st.lists(st.text(alphabet="abcdefghij ", min_size=1, max_size=12).filter(str.strip), min_size=2, max_size=6),
    st.sampled_from(["{}. ", "{}) ", "({}) "]),
    st.sampled_from([" ", "\n", "\n\n", ", "]),
)
def test_options_of_every_form_are_read_back(texts, form, joint):
    letters = "ABCDEF"
    query = "Which one is it?" + joint + joint.join(form.format(letters[i]) + text for i, text in enumerate(texts))
    expected = {letters[i]: " ".join(text.split()) for i, text in enumerate(texts)}
    assert parse_options(query) == expected


OTHER = [
    "what is the capital of France",
    "How many people are in the picture?",
    "What color is the car?",
    "Who is the president?",
    "Write me a poem",
    "2+2=?",
    "hello",
    "When was radio invented, and by whom?",
    "Translate this to German",
]
ABOUT_QUALITY = [
    "is it ok",
    "What about the car?",
    "hmm",
    "?",
    "What is wrong here",
    "the sky",
    "what do you think",
    "Ist das Bild scharf?",
]


@pytest.mark.parametrize("query", OTHER)
def test_other(query):
    reading = read_query(query)
    assert (reading.query_type, reading.scope, reading.distortions) == ("Other", "Global", {})


@pytest.mark.parametrize("query", [*SCORING, *EXPLANATION, *ABOUT_QUALITY])
def test_in_doubt_it_is_about_quality(query):
    assert read_query(query).query_type == "IQA"


SCOPES = [
    ("is the car sharp?", ["car"]),
    ("IS THE CAR SHARP???", ["car"]),
    ("what is the quality of the sky and the dog", ["sky", "dog"]),
    ("how is the sharpness of sky and dog", ["sky", "dog"]),
    ("are the trees, the house and the road sharp?", ["trees", "house", "road"]),
    ("Is the red car on the left side out of focus?", ["red car"]),
    ("Is the left side blurry?", ["left side"]),
    ("Is the dog's fur sharp?", ["dog's fur"]),
    ("How good does the face of the woman look?", ["face of the woman"]),
    ("Is the woman standing on the left blurry?", ["woman"]),
    ("noise in the dark areas?", ["dark areas"]),
    ("Are faces sharp?", ["faces"]),
    ("Does the building look blurry?", ["building"]),
    ("what is the quality of the car in the image", ["car"]),
    ("Is the dinner table clean?", ["dinner table"]),
    ("Rate the photo of my dog", "Global"),
    ("Is it a good photo of a dog?", "Global"),
    ("Is this sharp?", "Global"),
    ("Is there any distortion in the picture?", "Global"),
    ("Is the overall image quality good?", "Global"),
    ("What is the gmsd of this image?", "Global"),
    ("Is the region 10,20,100,80 blurry?", "Global"),
    ("compare the two codecs", "Global"),
    ("Is this jpeg compression visible?", "Global"),
]


@pytest.mark.parametrize(("query", "scope"), SCOPES)
def test_scope(query, scope):
    assert read_query(query).scope == scope


DISTORTIONS = [
    ("is it blurry?", {"Global": ["blurs"]}),
    ("Is it BLURRED or noisy?", {"Global": ["blurs", "noise"]}),
    ("is there motion-blur on the wheel?", {"wheel": ["motion blur"]}),
    ("over_sharpening?", {"Global": ["oversharpening"]}),
    ("is the sky too dark or too bright?", {"sky": ["underexposure", "overexposure"]}),
    ("salt-and-pepper noise?", {"Global": ["impulse noise"]}),
    ("JPEG 2000 ringing?", {"Global": ["jpeg2000"]}),
    ("is the car sharp and the sky noisy?", {"car": ["sharpness", "blurs"], "sky": ["noise"]}),
    ("is the bird in focus?", {"bird": ["blurs"]}),
    ("are the car and the sky noisy?", {"car": ["noise"], "sky": ["noise"]}),
    ("How severe is the blur? A) slight B) moderate", {"Global": ["blurs"]}),
    ("what distortion is most visible: A) blur B) noise", {}),
    ("Which? A. JPEG compression B. White noise", {}),
    ("Is it a noiseless camera?", {}),
    ("is this JPEG good?", {}),
    ("Is the jpeg image good?", {}),
    ("is anything in the dark areas wrong?", {}),
    ("What color is the car?", {}),
]


@pytest.mark.parametrize(("query", "distortions"), DISTORTIONS)
def test_named_distortions(query, distortions):
    assert read_query(query).distortions == distortions


@pytest.mark.parametrize("name", [*ALIASES, *known_distortions()])
def test_every_word_for_a_distortion_is_read(name):
    expected = parse_distortion(name)
    assert expected in named_distortions(f"Is there {name.upper()}, or not?")
    assert named_distortions(f"x{name}x") == []


def test_distortions_in_options_are_told_apart():
    reading = read_query("what distortion is most visible: A) blur B) noise C) cannot tell")
    assert reading.option_distortions == ["blurs", "noise"]
    assert reading.answer_mode == "mcq"


@pytest.mark.parametrize("tool", [tool.name for tool in all_tools()])
@pytest.mark.parametrize(
    "form", ["Use {}", "what does {} say?", "rate with {}.", "({})", "{}-based score", "{}'s value"]
)
def test_named_tools_are_never_lost(tool, form):
    assert read_query(form.format(tool)).tools == [tool]
    assert read_query(form.format(tool.lower())).tools == [tool]


def test_named_tools_keep_their_order():
    assert read_query("ssim, then PSNR, then ssim again").tools == ["SSIM", "PSNR"]
    assert read_query("Which tool? A) PSNR B) SSIM").tools == []


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("use MUSIQ", "MUSIQ"),
        ("rate it with lpips", "lpips"),
        ("Use the IW-SSIM metric", "IW-SSIM"),
        ("IW SSIM please", "IW SSIM"),
        ("use pnsr", "pnsr"),
        ("compute FOOQ", "FOOQ"),
        ("Assess it with XYZQ", "XYZQ"),
    ],
)
def test_unknown_tools_are_refused(query, name):
    with pytest.raises(UnknownNameError) as caught:
        read_query(query)
    assert caught.value.name == name
    assert caught.value.known == tuple(tool.name for tool in all_tools())


@pytest.mark.parametrize(
    "query",
    [
        "Rate it with HDR",
        "Was this photo taken with EOS R5 sharp?",
        "USE THE CAR AS THE SUBJECT. IS IT SHARP?",
        "use a sharpness metric",
        "Can I use it on the WEB?",
        "Which? A) BRISQUE B) LPIPS",
        "with nice colors?",
    ],
)
def test_other_words_are_no_tools(query):
    assert read_query(query).tools == []


@pytest.mark.parametrize(
    ("query", "region"),
    [
        ("region 10,20,100,80", (10, 20, 100, 80)),
        ("How good is the region (10, 20, 100, 80)?", (10, 20, 100, 80)),
        ("is ROI: [0;0;16;16] sharp", (0, 0, 16, 16)),
        ("crop 1 2 30 40.", (1, 2, 30, 40)),
        ("rate the region of the sky", None),
        ("10,20,100,80", None),
    ],
)
def test_region(query, region):
    assert parse_region(query) == read_query(query).region == region


@pytest.mark.parametrize("numbers", ["10,20,0,80", "1.5,2,3,4", "-1,2,3,4", "1,2,3", "1,2,3,4,5"])
def test_impossible_regions_are_refused(numbers):
    with pytest.raises(PlannerError, match="write region LEFT,TOP,WIDTH,HEIGHT"):
        parse_region(f"region {numbers}")


@pytest.mark.parametrize("query", ["", "  \n\t", " "])
def test_empty_query(query):
    with pytest.raises(PlannerError, match="the query is empty"):
        read_query(query)


def test_too_long_query():
    with pytest.raises(PlannerError, match=f"at most {MAX_QUERY}"):
        read_query("a" * (MAX_QUERY + 1))


@pytest.mark.parametrize(
    "unit",
    [" ", "a ", "the ", "region ", "region 1,", "(A) x ", "A) ", "excellent good poor ", "is the sky and ", "blur-", "\n",
     "use X", "- ", "quality of the ", "\n ", "_", "what is the the ", "rate 5 "],
)  # fmt: skip
def test_no_query_takes_long(unit):
    query = "x" + unit * (MAX_QUERY // len(unit) - 2) + "?"
    start = time.perf_counter()
    try:
        read_query(query)
    except InputError:
        pass
    assert time.perf_counter() - start < 2


@given(st.text())
@example("region ٣,٣,٣,٣")
@example("Ⓐ) blur Ⓑ) noise")
@example("İs it BLURRY? ﬁ")
@settings(deadline=None)
def test_any_text_is_read_or_refused(text):
    try:
        reading = read_query(text)
    except InputError:
        return
    assert reading == read_query(text)
    assert reading.scope == "Global" or all(name.strip() for name in reading.scope)
    assert (reading.answer_mode == "mcq") == bool(reading.options)


WORDS = st.sampled_from(
    "is are the a of in and or , ? . car sky dog image photo blurry noise sharp quality rate use with PSNR brisque A) B) C) "
    "(A) (B) region 1,2,3,4 what why it this too dark areas jpeg".split()
)


@given(st.lists(WORDS, min_size=1, max_size=25).map(" ".join))
@settings(deadline=None, max_examples=300)
def test_any_order_of_its_own_words_is_read_or_refused(text):
    try:
        reading = read_query(text)
    except InputError:
        return
    known = set(known_distortions())
    assert all(set(names) <= known for names in reading.distortions.values())
    if reading.distortions:
        assert set(reading.distortions) == ({"Global"} if reading.scope == "Global" else set(reading.scope))
