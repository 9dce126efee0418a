"""Every question is read as one value, and answered in the form, on the scale and with the number that it asks for."""

import re
from functools import cache
from pathlib import Path

import cv2
import numpy as np
import pytest
from chances import examples
from distort import distort
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import ExifTags, Image
from skimage import data
from skimage.metrics import peak_signal_noise_ratio

from loopwright.workflows.iqa import run_pipeline
from loopwright.workflows.iqa.answer.answers import OTHER_ANSWER
from loopwright.workflows.iqa.question.reading import read_query
from loopwright.workflows.iqa.question.vocabulary import spans

PHOTOGRAPHS = {"coffee": data.coffee, "cat": data.chelsea}
WORDS = {"gaussian blur": "blurry", "gaussian noise": "noisy", "jpeg": "blocky", "underexposure": "too dark"}
"""Distortion -> the word that asks for it."""


@pytest.mark.parametrize(
    ("query", "best", "worst"),
    [
        ("Use a scale from 1 to 10. Is it good?", "10.0 of 10", "1.0 of 10"), ("Grade it A to F.", "A", "F"),
        ("How good is it, 0 is useless, 100 is flawless?", "100 of 100", "0 of 100"), ("Between A and D?", "A", "D"),
        ("What percentage would you give it?", "100 percent", "0 percent"), ("How many stars?", "5.0 of 5 stars", "1.0 of 5 stars"),
        ("Rate it from 1 (great) to 6 (awful).", "1.0 of 6", "6.0 of 6"), ("Thumbs up or down?", "Thumbs up", "Thumbs down"),
        ("How overexposed is it, 0 = not at all, 10 = all white?", "0.0 of 10", "10.0 of 10"),
        ("From one to seven, how sharp is it?", "7.0 of 7", "1.0 of 7"), ("Welche Schulnote bekommt das Bild?", "1.0 of 6", "6.0 of 6"),
        ("Gib ihm eine Schulnote von 1 bis 6.", "1.0 of 6", "6.0 of 6"), ("How much quality was lost, in percent?", "0 percent", "100 percent"),
        ("How good is it after all that was lost, 0 to 10?", "10.0 of 10", "0.0 of 10"), ("Note von 1 bis 6 (6 = beste)", "6.0 of 6", "1.0 of 6"),
        ("Note de 1 (pire) à 10 (meilleur)", "10.0 of 10", "1.0 of 10"), ("Da 1 a 10, quanto è nitida la persona?", "10.0 of 10", "1.0 of 10"),
        ("After the upload, how much worse is it, 0 to 100?", "0 of 100", "100 of 100"),
        ("Gib dem Rauschen eine Note von 1 bis 10", "1.0 of 10", "10.0 of 10"),
    ],
)  # fmt: skip
def test_a_scale_runs_from_the_worst_to_the_best(query, best, worst):
    scale = read_query(query).questions[0].scale
    assert scale and (scale.at(5), scale.at(1)) == (best, worst)


@pytest.mark.timeout(10)
def test_a_long_list_is_read_in_time():
    assert read_query("is the left half sharp, and the right half noisy, " * 80).questions
    before = spans.cache_info().misses
    assert read_query(f"Is it noisy? I saw {', '.join(f'{number:b}nd' for number in range(512, 912))}.").questions
    assert spans.cache_info().misses < before + 50, "what is around each comma is not read"


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Name, distortion and level -> the file of a photograph with it."""
    folder = tmp_path_factory.mktemp("known")

    @cache
    def path(name: str, kind: str | None, level: int) -> Path:
        rgb = PHOTOGRAPHS[name]()[:288, :384]
        file = folder / f"{name}-{kind}-{level}.png"
        Image.fromarray(rgb if kind is None else distort(rgb, kind, level)).save(file)
        return file

    return path


def ask(path, query, reference=None):
    return run_pipeline(query, path, reference)["summarizer_result"].final_answer


FORMS = {
    "yes or no": ("Is it {word}?", r"(Yes|No)\b"), "tag": ("It isn't {word}, is it?", r"(Yes|No)\b"),
    "1 to 10": ("Rate the quality from 1 to 10.", r"(\d+\.\d) of 10\b"), "percent": ("Give the quality in percent.", r"(\d+) percent\b"),
    "above": ("Is the quality above 80 out of 100?", r"(Yes|No): the quality is \d+ of 100\b"),
    "alternative": ("Is it {word}, or is it fine?", r"(?!Yes|No\b)\w"),
    "keep": ("Keep only pictures that are not {word}. Keep or drop?", r"(Keep|Drop)\b"),
    "apart": ("What is wrong apart from it being {word}?", r""), "half": ("Is the left half {word}?", r"The left half: (Yes|No)\b|(Yes|No)\b"),
}  # fmt: skip


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=examples(20))
@given(
    st.sampled_from([*PHOTOGRAPHS]), st.sampled_from([*WORDS]), st.sampled_from([None, 4, 5]), st.sampled_from([*FORMS])
)
def test_the_answer_has_the_asked_form_and_agrees_with_the_known_strength(kept, name, kind, level, form):
    """Without a distortion, or with a strong one; what is slight is a matter of doubt and not asked for here."""
    asked, shape = FORMS[form]
    said = ask(kept(name, kind if level else None, level or 0), asked.format(word=WORDS[kind]), kept(name, None, 0))
    assert re.match(shape, said), said
    starts = {"above": "Yes", "alternative": "Fine", "keep": "Keep"}
    if form in ("yes or no", "tag", "half"):
        assert (" Yes" in f" {said.removeprefix('The left half:')}"[:6]) is (level is not None), said
    elif form in starts:
        assert said.startswith(starts[form]) is (level is None), said
    elif form == "apart":
        kinds = {"gaussian blur": "blur", "gaussian noise": "noise", "jpeg": "JPEG", "underexposure": "underexposure"}
        assert kinds[kind] not in said, said
    else:
        score = float(re.match(shape, said)[1]) / (10 if form == "1 to 10" else 100)
        assert (score > 0.9) is (level is None), said


def test_the_file_tells_its_facts(tmp_path):
    exif = Image.Exif()
    exif.get_ifd(ExifTags.IFD.Exif)[ExifTags.Base.DateTimeOriginal] = "2025:06:01 10:00:00"
    path = tmp_path / "photo.jpg"
    Image.fromarray(data.coffee()[:270, :480]).save(path, exif=exif, quality=30)
    facts = ("480 x 270", "How wide is it?"), ("JPEG", "What type of file is it?"), ("16:9", "Aspect ratio?")
    assert all(fact in ask(path, query) for fact, query in (*facts, ("2025:06:01", "When was this picture taken?")))
    assert ask(path, "Is this a JPEG?") == "Yes: the file is a JPEG."
    assert ask(path, "Can the artifacts be removed?").startswith("No: what the coder threw away is gone")
    assert ask(path, "Should the artifacts be removed before printing?").startswith("Yes: go back to the original")
    assert all(ask(path, f"Is it {of}?")[:2] == "No" for of in ("black and white", "correct that it is a PNG"))
    assert ask(path, "Has it enough pixels for A4 at 300 dpi?").startswith("No")
    assert re.match("No: A4 .* cm. .* sharp", ask(path, "Is it sharp enough to print A4?"))
    assert ask(path, "Is it big enough for a poster?").startswith("No: a poster at 300 dpi takes 7020 x 4950 pixels")
    assert ask(path, "Is it too small for A4?").startswith("Yes: A4")
    assert ask(path, "Can I print this at A2?").startswith("No: A2")
    assert re.fullmatch(r"The file has \S+ bytes .*", ask(path, "How big is the file?"))
    assert "30 of 100" in ask(path, "Which quality setting was it saved with?")
    assert "cannot be told" in ask(path, "Who took it?")
    deep, lab = tmp_path / "deep.png", tmp_path / "lab.tif"
    cv2.imwrite(str(deep), np.full((40, 40, 3), 40_000, np.uint16))
    Image.new("LAB", (40, 40)).save(lab)
    assert ask(deep, "Is it 16 bit?").startswith("Yes") and "no transparency" in ask(lab, "Is it transparent?")
    state = run_pipeline("How many megapixels does it have?", path)
    assert state["executor_evidence"].tool_logs == [], "nothing is measured for it"


def test_advice_has_its_measured_reason(kept):
    noisy = kept("coffee", "gaussian noise", 4)
    assert re.match(r"Yes: denoising would help against \w+ gaussian noise", ask(noisy, "Would denoising help?"))
    assert ask(noisy, "Would sharpening help?").startswith("No: sharpening would not help")
    assert ask(noisy, "Can I get rid of the grain, or must I take another picture?").startswith("Shoot again: ")
    dark = kept("coffee", "underexposure", 4)
    asked = ("Should I push the exposure up or pull it down?", "How do I make it better?")
    asked += ("How can I make it brighter?", "Quel est le meilleur moyen d'améliorer la photo ?")
    assert all("Brighten it" in ask(dark, each) for each in asked)


def test_the_same_pixels_are_lossless(kept):
    path = kept("coffee", None, 0)
    assert ask(path, "Is it lossless?", path).startswith("Yes: the image and its reference are identical")
    assert ask(kept("coffee", "jpeg", 4), "Did it lose anything?", path).startswith("Yes: ")


@pytest.mark.parametrize(
    "query", ["good morning, how are you?", "Who wrote Faust?", "asdf qwerty", "Is this bird protected?", "Is it a good composition?",
              "What is in this picture?", "Who is in the picture?", "Wer ist auf dem Bild?"],
)  # fmt: skip
def test_what_is_no_question_about_quality_is_declined_in_one_sentence(kept, query):
    state = run_pipeline(query, kept("coffee", None, 0))
    assert state["summarizer_result"].final_answer == OTHER_ANSWER
    assert (state["iteration_count"], state["executor_evidence"].tool_logs) == (0, [])


def test_the_colour_of_a_cast_is_held_against_the_one_that_was_asked_about(tmp_path):
    orange = np.clip(data.coffee()[:288, :384] * np.array([1.2, 0.95, 0.5]), 0, 255).astype(np.uint8)
    Image.fromarray(orange).save(tmp_path / "orange.png")
    assert ask(tmp_path / "orange.png", "Is it too warm?").startswith("Yes")
    assert all(ask(tmp_path / "orange.png", each)[:9] == "No: it is" for each in ("Too blue?", "Is there a blue tint?"))
    assert re.match(r"No: \w+ color cast", ask(tmp_path / "orange.png", "Stimmt der Weißabgleich?"))
    assert "white balance" in ask(tmp_path / "orange.png", "What would you fix first?")
    assert ask(tmp_path / "orange.png", "Which cast has it? A) blue B) orange C) green D) none") == "B"


def test_an_explanation_is_no_bare_grade_and_all_values_are_told(kept):
    noisy = kept("coffee", "gaussian noise", 4)
    asked = ("Describe the quality in one sentence.", "What did the encoder do to it?", "Bottom right?")
    reports = ("Give me a quality report", "Report on this image", "Qualitätsbericht bitte", "Informe de calidad")
    assert all("gaussian noise" in ask(noisy, each) for each in (*asked, *reports))
    assert ask(noisy, "Good enough for a passport?")[:7] == ask(noisy, "For a client, can I send it?")[:7] == "No: the"
    values = ask(noisy, "What values do the tools give?")
    assert all(tool in values for tool in ("BlindScore", "BRISQUE", "NIQE")), values
    assert ask(noisy, "Should it be sharper?").startswith("No: sharpening would not help")


def test_a_share_is_no_grade_and_a_rank_no_place(kept):
    over = kept("coffee", "overexposure", 5)
    assert re.search(r"overexposure \(measured \d+(\.\d+)?%", ask(over, "What percentage of the pixels is blown out?"))
    assert read_query("Give me the top three issues").plan.query_scope == "Global"
    for query in ("Which part is blurry?", "Welcher Bereich hat Fehler?", "What is wrong in the darker area?"):
        assert read_query(query).plan.query_scope == "Global" != read_query("Which part is worse?").plan.query_scope
    assert read_query("Is the upper or the lower sharper?").questions[0].sought == "less", "blur is sought"
    for query in ("Is it sharp at 100%?", "Shot at ISO 100 and 1/60 s. Is it good?", "Would a 20% crop help?"):
        assert read_query(query).questions[0].scale is None
    assert read_query("Is the top third darker than the rest?").plan.query_scope == ["top third", "bottom two thirds"]
    assert ask(kept("coffee", None, 0), "Any reason not to use it?").startswith("No: the quality is ")


def test_a_rule_has_the_questions_own_words_and_tells_what_is_slight(kept):
    assert ask(kept("coffee", "gaussian noise", 4), "Pass or fail?").startswith("Fail: ")
    rule = "Our rule: no noise worse than slight. In or out?"
    assert ask(kept("coffee", "gaussian noise", 4), rule).startswith("Out: severe gaussian noise")
    assert ask(kept("coffee", None, 0), rule).startswith("In: no noise")
    assert ask(kept("coffee", "underexposure", 4), "Discard underexposed shots. Verdict?").startswith("Drop: ")
    assert ask(kept("coffee", "jpeg", 4), "Main issue: 1) blur 2) blocking 3) banding").startswith("Blocking: ")


def test_right_is_good_and_what_is_set_aside_stays_so(kept):
    photo, noisy = kept("coffee", None, 0), kept("coffee", "gaussian noise", 4)
    assert ask(noisy, "Is the exposure right?").startswith("Yes: no brightness change")
    for query in ("Neither sharp nor noisy?", "Is the exposure not quite right?"):
        assert ask(photo, query).startswith(("No: not blurred", "No: no brightness change"))
    assert ask(noisy, "way 2 noisy right?")[:3] == ask(noisy, "Is the noise worse than slight?")[:3] == "Yes"
    assert ask(noisy, "Apart from the noise, is everything okay?").startswith("Yes: nothing else")
    dark = kept("coffee", "underexposure", 4)
    assert ask(dark, "What changed besides the brightness?", photo).startswith("Nothing else")
    assert ask(photo, "Stimmen die Farben?").startswith("Unable"), "nothing in it is grey"
    assert not read_query("Wie viele Sterne hat es?").questions[0].terms, "no misspelt veil"
    assert read_query("Gibt es Pixelfehler?").plan.distortions == read_query("Any dead pixels?").plan.distortions
    assert ask(noisy, "Any distrotions in the picture?").startswith("Yes: ")
    assert "find the sound in it" in ask(photo, "Is the sound quality good?")
    assert ask(kept("coffee", "gaussian blur", 2), "Ist es perfekt scharf?").startswith("No: ")


@pytest.mark.parametrize(
    ("query", "start"),
    [("Is there noise in the shadows?", "Yes: severe gaussian noise"), ("Rauscht es in den dunklen Bereichen?", "Yes: severe gaussian noise"),
     ("Is the contrast too harsh?", "Unable to determine: High contrast cannot"), ("Is it noise or vignetting?", "Severe gaussian noise"),
     *((each, "Unable to determine: nothing here measures composition") for each in ("Is the composition good?",
       "Ist das Motiv gut gewählt?", "La composition est-elle bonne ?", "¿Es buena la composición?", "Rate the outfit from 1 to 10")),
     *((each, "Unable to determine: nothing here measures ") for each in ("Does it have vignetting?", "Hat es rote Augen?", "Is there moiré?", "Is it upside down?")),
     *((each, "No: the quality") for each in ("Is the quality good despite the watermark?", "Is the headshot acceptable?", "Ist das Passbild gut?",
       "¿Es buena la toma?", "La foto è buona?", "Le résultat est-il bon ?", "The photo is good?")),
     ("What is the main problem? (1) blur (2) noise (3) blocking", "Noise (2)"), ("Can you check 1) sharpness 2) noise?", "Noise: severe"),
     ("How strong are these? 1) noise 2) blur", "Noise: severe"), ("Has it (1) noise or (2) banding?", "Yes: severe gaussian noise"),
     ("1) Is it sharp? 2) Is it noisy?", "Yes: no blur"), ("pass/fail?", "Fail: "), ("How large can I print it?", "It is 384 x 288 pixels; at"),
     *((each, "Unable to determine: there is no reference") for each in ("Was anything lost?", "Ist es gespiegelt?")),
     *((each, "No: severe gaussian noise") for each in ("not noisy right?", "The picture isn't noisy right?", "Is it neither blurred nor noisy?",
       "Weder unscharf noch verrauscht?", "Ni floue ni bruitée ?", "Né sfocata né rumorosa?")),
     ("Is the noise A) okay or B) off?", "B"), ("Posso stamparla 30x20 cm?", "No: that size"), ("Was it blown up?", "No: no pixelation"), ("Is it good enough?", "No: ")],
)  # fmt: skip
def test_nothing_is_praised_or_ruled_out_that_was_not_asked_about_or_not_measured(kept, query, start):
    assert ask(kept("coffee", "gaussian noise", 4), query).startswith(start)


def test_a_tools_own_value_comes_first_and_is_held_against_the_number(kept):
    image, reference = kept("coffee", "gaussian noise", 4), kept("coffee", None, 0)
    psnr = peak_signal_noise_ratio(*(np.asarray(Image.open(path)) for path in (reference, image)))
    Image.open(image).save(coded := image.with_suffix(".jpg"), quality=90)
    assert re.match(r"Yes: \w+ gaussian noise", ask(coded, "Is it noisier?", reference))
    result = run_pipeline("What is the PSNR?", image, reference)["summarizer_result"]
    assert result.final_answer.startswith(f"PSNR is {psnr:.4g} dB in the whole image: ")
    assert f"({result.quality_score:.1f} of 5)" in result.final_answer
    assert ask(image, "What are PSNR and SSIM?", reference).startswith(f"PSNR is {psnr:.4g} dB, SSIM is 0.")
    assert ask(image, "Rate the quality with PSNR", reference) in ("Bad", "Poor", "Fair", "Good", "Excellent")
    assert ask(image, "Is the PSNR above 60?", reference).startswith(f"No: PSNR is {psnr:.4g} dB, below 60")
    sharpness, _, noise = ask(image, "Rate sharpness and noise separately.", reference).partition(" Noise: ")
    assert sharpness.startswith("Sharpness: ") and noise.split(".")[0] in ("Bad", "Poor", "Fair")
