"""Answers by rules, from evidence that is written here by hand: which words lead to which answer."""

import pytest
from findings import evidence
from hypothesis import given
from hypothesis import strategies as st

from loopwright.errors import UnknownNameError
from loopwright.workflows.iqa.answer.answers import answer
from loopwright.workflows.iqa.answer.choosing import parse_choice
from loopwright.workflows.iqa.answer.facts import UNABLE
from loopwright.workflows.iqa.measuring.severity import BLIND
from loopwright.workflows.iqa.schemas import DistortionFinding, ExecutorOutput, PlannerOutput, ToolLog

FULL = "Full-Reference"


def asked(query, what, mode="explanation", **fields):
    return answer(query, PlannerOutput(**{"answer_mode": mode, "reference_mode": FULL, **fields}), what)


def chosen(query, what):
    return asked(query, what, mode="mcq").final_answer


BLURRED = evidence(("gaussian blur", "severe"), ("noise", "slight"))
CLEAN = evidence(score=4.8)


class TestScoring:
    def test_level_number_and_reasons(self):
        result = asked("Rate it", BLURRED, mode="scoring")
        assert (result.final_answer, result.quality_score) == ("Fair", 3.2)
        for part in ("MDSI", "0.35", "3.20", "GMSD 3.00", "gaussian blur is severe", "the whole image"):
            assert part in result.quality_reasoning
        assert result.used_evidence["tool_scores"] == {"MDSI": 3.2, "GMSD": 3.0}
        blur = {"scope": "Global", "type": "gaussian blur", "severity": "severe", "confidence": 0.9}
        assert result.used_evidence["distortions"][0] == blur

    def test_no_score_no_evidence_and_an_abstention_are_no_guess(self):
        off = {"plan": {"tool_execution": False, "tool_selection": False}}
        result = asked("Rate it", evidence(score=None), mode="scoring", **off)
        assert (result.final_answer, result.quality_score) == (UNABLE, None)
        assert "The plan ran no quality tool" in result.quality_reasoning
        off = {"plan": {"distortion_detection": False, "distortion_analysis": False}}
        nothing = evidence(distortion_set={}, distortion_analysis={})
        assert asked("Is it sharp?", nothing, **off).final_answer.startswith(UNABLE)
        assert asked("How severe is the noise?", nothing, **off).final_answer.startswith(UNABLE)
        said = asked("What is wrong with it?", evidence(notes=["Detection abstained: bokeh."])).final_answer
        assert said.startswith(UNABLE)

    def test_the_reasons_name_a_failed_tool_an_abstention_and_a_contradiction(self):
        logs = [
            ToolLog(tool="MDSI", raw=0.1, score=4.8),
            ToolLog(tool="GMSD", raw=0.3, score=1.1),
            ToolLog(tool="SSIM", error="boom"),
        ]
        what = evidence(
            score=4.8, tool_logs=logs, quality_scores={"MDSI": 4.8, "GMSD": 1.1}, notes=["Detection abstained: bokeh."]
        )
        said = asked("Rate it", what, mode="scoring").quality_reasoning
        assert "GMSD contradicts MDSI" in said
        assert "Tool SSIM failed: boom." in said and "Detection abstained: bokeh." in said
        assert "No distortion was found" not in said


class TestExplanation:
    def test_what_is_wrong_lists_the_strongest_first(self):
        said = asked("What is wrong with it?", evidence(("noise", "slight"), ("jpeg", "extreme"))).final_answer
        assert said.index("extreme JPEG compression (measured 2.5)") < said.index("slight noise")

    def test_what_one_answer_contains_is_not_said_again(self):
        said = asked("What is the quality of this image, and what is wrong with it?", BLURRED).final_answer
        assert said.startswith("Fair (3.2 of 5). Found in") and said.count("Found") == 1

    @pytest.mark.parametrize(
        ("query", "share", "start"),
        [("Is it in focus?", 81, "Partly: "), ("Is it blurry?", 81, "Partly: "), ("Is it in focus?", 20, "Yes: not blurred"),
         ("Is any part out of focus?", 20, "Partly: "), ("Is there motion blur?", 81, "No: "),
         ("Is it blurred in many places or everywhere?", 20, "Partly: "), ("What is wrong?", 81, "Soft in most of it: "),
         ("Would sharpening help?", 81, "Soft in most of it: ")],
    )  # fmt: skip
    def test_what_is_soft_in_half_of_it_or_in_the_part_that_is_asked_for(self, query, share, start):
        note = f"Soft in part: its sharpest parts are sharp, while about {share}% is soft, at the left."
        soft = evidence(notes=[note])
        assert asked(query, soft).final_answer.startswith(start)
        if start == "Partly: " and "any" not in query:
            assert chosen(f"{query} A. Yes B. No", soft) == ("B" if "focus" in query else "A")

    @pytest.mark.parametrize(
        ("query", "start"),
        [("Is the car sharp?", "No: severe gaussian blur in the whole image"), ("Is there any motion blur?", "No"),
         ("Is the contrast too low?", "No: no low contrast"), ("Are there compression artifacts?", "No: no compression found"),
         ("Is it without compression artefacts?", "Yes: no compression found"), ("Is it blur-free?", "No: severe gaussian blur"),
         ("Is this photo, taken without flash, noisy?", "Yes: slight noise"), ("Is it flawless?", "No: the quality is fair"),
         ("Too soft, they say. I disagree. Am I right?", "Yes: severe"), ("Is it free of artefacts?", "No: severe gaussian blur"),
         ("Is it good?", "No: the quality is fair (3.2 of 5)"), ("Is it without banding but blurry?", "Yes: no banding found"),
         ("Is the quality acceptable?", "Yes: the quality is fair"), ("Is it noiseless?", "No: slight noise"),
         ("Ist es fehlerfrei?", "No: severe gaussian blur"), ("Is it noisy, blurry or both?", "Both: severe gaussian blur ("),
         ("Is this a good portrait?", "No: the quality is fair"), ("Which of both is worse, noise or blur?", "Blur: severe gaussian"),
         ("Is the noise reduction too strong?", "Yes: severe gaussian blur"), ("Where did it go wrong?", "Found in"),
         ("Is the compression causing blur?", "No: no compression"), ("Was the photo denoised or sharpened?", "Denoised: severe"),
         ("Is the noise, banding or compression worse?", "Noise: slight"), ("It isn't noisy or blurred, right?", "No: severe"),
         ("Can you confirm that it isn't blurred?", "No: severe"), ("Is it perfectly clean?", "No: slight noise"), ("Is it perfectly exposed?", "Yes: no"),
         ("Is it good enough as a photo to e-mail?", "No: the quality is fair"), ("Is the noise negligible?", "Yes: only slight"),
         ("Quel est le pire défaut ?", "Found in"), ("¿Cuál es el peor defecto?", "Found in"), ("Sind die beiden Augen scharf?", "No: severe"),
         *((f"Is {of} sharp?", "No: severe gaussian blur") for of in ("the dark dog", "the Milky Way", "this 100% crop", "the thick fur",
           "this nice photo", "the edited photo", "my niece", "the drake", "it 100%", "the thumb", "the tool"))],
    )  # fmt: skip
    def test_yes_or_no(self, query, start):
        assert asked(query, BLURRED).final_answer.startswith(start)

    @pytest.mark.parametrize(
        ("query", "word"),
        [("Is the file smaller than 50,000 bytes?", "No"), ("Is it under 5 megabytes?", "Yes"), ("Is it 4 MB?", "Yes"), ("Is it 1,2,4 MB?", "No"),
         ("Is it no larger than 3 MB?", "No"), ("Is it over 1,5 MB?", "Yes"), ("Is it 4k wide?", "No"), ("Is it 640 pixels wide?", "Yes"),
         ("Is it 320 pixels wide?", "No"), ("Is it more than 640 pixels wide?", "No"), ("Is it at least 640 pixels wide?", "Yes")],
    )  # fmt: skip
    def test_a_number_about_the_file_has_its_unit(self, query, word):
        file = {"width": 640, "height": 480, "bytes": 4_000_000, "bits": 8}
        assert asked(query, evidence(file=file)).final_answer.startswith(word)


class TestComparison:
    @pytest.mark.parametrize(
        ("query", "start", "same"),
        [("Is it worse than the reference?", "Yes: the reference is better", "No: the image and its reference look the same"),
         ("Is it no worse than the reference?", "No: the reference is better", "Yes: the image and its reference look"),
         ("Is it at least slightly better than the reference?", "No: the reference is", "No: the image and its reference look"),
         ("Is it at least as good as the reference?", "No: severe gaussian blur", "Yes: no visible difference"),
         ("Which is better?", "The reference is better", "The image and its reference look the same"),
         ("Ist die Vorlage besser als das Bild?", "Yes: the reference is better", "No: the image and its reference look")],
    )  # fmt: skip
    def test_a_distorted_image_and_one_that_looks_the_same(self, query, start, same):
        assert asked(query, BLURRED).final_answer.startswith(start)
        assert asked(query, CLEAN).final_answer.startswith(same)

    @pytest.mark.parametrize(
        ("query", "found", "start"),
        [("Is it brighter than the reference?", "underexposure", "No: this image has severe underexposure"),
         ("Which one is brighter, this or the reference?", "underexposure", "The reference: this image has"),
         ("Is it sharper than the original?", "oversharpening", "Yes: this image has"),
         ("Does it have more contrast than the original?", "low contrast", "No: this image has"),
         ("Is there a difference in sharpness to the original?", "gaussian blur", "Yes: this image has"),
         ("Did it lose sharpness?", "motion blur", "Yes: this image has"),
         ("Is it noisier than the original?", "gaussian blur", "No: no difference of noise"),
         ("Is it as sharp as the original?", "underexposure", "Yes: no difference of sharpness"),
         ("Is it at least as sharp as the original?", "underexposure", "Yes: no difference of sharpness"),
         ("Is it still sharp, compared with the original?", "gaussian noise", "Yes: no blur found"),
         ("Is it no noisier than the original?", "gaussian noise", "No: this image has"),
         ("Does it have lower contrast than the original?", "low contrast", "Yes: this image has"),
         ("Is it more colourful than the original?", "saturation change", "No: this image has"),
         ("Is it paler than the original?", "saturation change", "Yes: this image has")],
    )  # fmt: skip
    def test_one_respect_and_its_opposite(self, query, found, start):
        what = evidence((found, "severe"))
        what.distortion_analysis["Global"][0].measured["saturation_ratio"] = 0.2 if found == "saturation change" else 1
        assert asked(query, what).final_answer.startswith(start)

    @pytest.mark.parametrize(
        ("query", "start"),
        [("Which half is brighter?", "The left"), ("Is the left half darker than the right half?", "No"),
         ("Which half has more contrast?", "The left"), ("Which half is paler?", "The right"),
         ("Is the contrast of the left half lower than that of the right half?", "No"),
         ("Which half is more saturated?", "The left"), ("Welche Hälfte ist heller?", "The left"),
         ("As I see it, is the left half sharper than the right half?", "Yes"),
         ("Is the left half at least as sharp as the right half?", "Yes"),
         ("Is the left half no blurrier than the right half?", "Yes"), ("Is the left side blurrier?", "No: the"),
         ("Is the left half of this portrait sharper than the right?", "Yes"), ("Which half has the lower contrast?", "The right"),
         ("Is the left or the right half sharper?", "The left"), ("Is the contrast lower on the right than on the left?", "Yes"),
         ("Is the left half not as blurry as the right half?", "Yes")],
    )  # fmt: skip
    def test_the_left_half_has_more_light_contrast_and_colour_and_is_sharper(self, query, start):
        halves: dict[str, list[DistortionFinding]] = {}
        others = ("right half", 60, 2.8, 66, 6), ("center", 99, 0.1, 250, 90)  # the last one is not asked about
        for scope, luma, blur, contrast, colour in (("left half", 90, 0.8, 240, 40), *others):
            numbers = {"overexposure": 0, "underexposure": 2 * luma, "gaussian blur": blur}
            numbers |= {"low contrast": contrast, "saturation change": colour}
            halves[scope] = [
                DistortionFinding(
                    type=name, severity="none", confidence=1, explanation=f"{BLIND[name].label} is {value}.",
                    measured={"value": value, "mean_luma": luma},
                )
                for name, value in numbers.items()
            ]  # fmt: skip
        assert asked(query, ExecutorOutput(distortion_analysis=halves)).final_answer.startswith(start)

    def test_without_a_reference_there_is_no_comparison(self):
        result = asked("Is it worse than the reference?", BLURRED, reference_mode="No-Reference")
        assert result.final_answer == f"{UNABLE}: there is no reference image to compare with."
        noisier = asked("Which of these two is noisier?", BLURRED, reference_mode="No-Reference")
        assert noisier.final_answer == result.final_answer


class TestChoice:
    @pytest.mark.parametrize(
        ("query", "letter"),
        [
            ("Which distortion is strongest?\nA. Noise\nB. Blur\nC. Cannot tell", "B"),
            ("Which distortion is weakest? A. Noise B. Blur", "A"),
            ("Which distortion is not present? A. Noise B. Blur C. Compression", "C"),
            ("How severe is the noise? A. none B. slight C. severe", "B"),
            ("Is the image free of compression artifacts? A. Yes B. No C. Cannot tell", "A"),
            ("What is the overall quality? A. Bad B. Poor C. Fair D. Good E. Excellent", "C"),
            ("Rate the quality from 1 to 5. A. 1 B. 2 C. 3 D. 4 E. 5", "C"),
            ("How is the quality? A. High B. Medium C. Low", "B"),
            ("Sharpness: (A) high (B) medium (C) low", "C"),
            ("Contrast: A. low B. high", UNABLE),
            ("How severe is the sharpness problem? A. slight B. severe", "B"),
            ("How is it compared with the reference? A. Better B. Worse C. The same", "B"),
            ("Which is better? A. The reference B. The distorted image", "A"),
            ("Which tool suits best? A. PSNR B. MDSI C. NIQE", "B"),
            ("Why is this not clear? A. Compression B. Blur", "B"),
            ("It does not look right. What is the main problem? A. Compression B. Blur", "B"),
            ("Which fault does it not have? A. Compression B. Blur", "A"),
            ("How is it? A. Sharp but noisy B. Blurry but clean C. Blurry and noisy", "C"),
            ("How is it? A. Blurry without noise B. Blurry, without compression", "B"),
            ("Which? A. Noise-free and sharp B. No blur and banding C. Salt and pepper D. Noise, not sharp", "D"),
            ("Is it noisy or blurred? I cannot tell. A. noise B. blur", "B"),  # that is no option unless it is listed
            ("What is the main distortion? A. Banding B. Compression", UNABLE),
            ("Where was it taken? A. in Rome B. in Oslo", UNABLE),
            ("Which is it? A. Blur B. Blurred C. Noise", UNABLE),
            ("What is the overall quality? A. Bad B. Excellent", UNABLE),
        ],
    )
    def test_the_letter_that_the_evidence_bears_out_and_never_a_guess(self, query, letter):
        assert chosen(query, BLURRED) == letter

    @given(st.text(max_size=60).filter(str.strip), st.sampled_from(["mcq", "scoring", "explanation"]))
    def test_any_text_gets_an_answer(self, query, mode):
        assert asked(query, BLURRED, mode=mode).quality_reasoning


class TestReplies:
    OPTIONS = {"A": "Noise", "B": "Blur", "C": "Cannot tell"}  # noqa: RUF012

    @pytest.mark.parametrize(
        ("reply", "letter"),
        [("B", "B"), ("b.", "B"), ("(B) Blur", "B"), ("B) Blur", "B"), ("Option B", "B"), ("Answer: B", "B"), ("Blur", "B"),
         ("cannot tell", "C"), ("Unable to determine", UNABLE), ("A: Noise", "A")],
    )  # fmt: skip
    def test_the_forms_of_a_letter(self, reply, letter):
        assert parse_choice(reply, self.OPTIONS) == letter

    @pytest.mark.parametrize("reply", ["D", "E.", "(D) Banding", "Compression", "Can you repeat?", "Both", "A cat", ""])
    def test_what_is_no_option_is_an_error(self, reply):
        with pytest.raises(UnknownNameError, match="option"):
            parse_choice(reply, self.OPTIONS)


def test_a_level_does_not_hide_what_was_found_nor_what_its_tool_cannot_see():
    by_niqe = {"selected_tools": ["NIQE"], "quality_scores": {"NIQE": 3.6}, "primary_tool": "NIQE", "tool_logs": []}
    result = asked("Is this a good photo?", evidence(("color cast", "severe"), **by_niqe))
    assert "severe color cast" in result.final_answer
    assert "NIQE is weak at color distortions, so the score may be too good." in result.quality_reasoning
    blurred = asked("Is this a good photo?", evidence(("gaussian blur", "severe"), **by_niqe))
    assert "is weak" not in blurred.quality_reasoning
    what = evidence(("motion blur", "severe"))
    item = what.distortion_analysis["Global"][0]
    item.confidence, item.measured["motion_direction"] = 0.55, 88
    blind = {"reference_mode": "No-Reference"}
    assert "Yes: sharpening would help" in asked("Would sharpening help?", what, **blind).final_answer
    assert "blur (vertical, 55% sure)" in asked("Can the blur be rescued?", what, **blind).final_answer
    assert asked("Is the quality bad?", BLURRED, **blind).final_answer.startswith("Yes")
