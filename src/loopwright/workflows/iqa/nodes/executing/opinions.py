"""A chat model's opinion of the distortions beside what was measured: it may settle a doubt, never overrule."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from loopwright.workflows.iqa.distortions import Severity, in_words, kind_of
from loopwright.workflows.iqa.measuring.detection import SURE, Detection
from loopwright.workflows.iqa.measuring.features import ImageFeatures, PairFeatures
from loopwright.workflows.iqa.measuring.likeness import closeness
from loopwright.workflows.iqa.measuring.severity import assess
from loopwright.workflows.iqa.schemas import DistortionFinding
from loopwright.workflows.iqa.vision.votes import Suspicion


def settle(
    detection: Detection, opinion: Sequence[Suspicion], features: ImageFeatures, pair: PairFeatures | None
) -> tuple[Detection, list[str]]:
    """Let an opinion decide what detection left open.

    A suspicion of a kind that detection could neither state nor rule out becomes a finding, with the measured severity
    where the number shows one, else with the model's; a guess that it shares becomes a statement. Everything else that
    the model sees is noted and changes nothing.

    Args:
        detection: What was measured.
        opinion: What the chat model believes to see, strongest first.
        features: What the image shows by itself.
        pair: What the comparison with the reference shows, if there is one.

    Returns:
        The detection with what the opinion settled, and one note for each suspicion.
    """
    findings = list(detection.findings)
    notes: list[str] = []
    settled: set[str] = set()
    open_kinds = {kind for doubt in detection.doubts for kind in doubt.kinds}
    for seen in opinion:
        said = f"The chat model sees {seen.severity.value} {in_words(seen.type)}: {seen.why.rstrip('.')}"
        guess = next((item for item in findings if closeness(seen.type, item.type) > 0), None)
        if guess is not None and guess.confidence >= SURE:
            notes.append(f"{said}; it was measured as {guess.severity.value} {in_words(guess.type)}")
        elif guess is not None:
            findings[findings.index(guess)] = guess.model_copy(update={"confidence": SURE})
            settled.add(kind_of(guess.type))
            notes.append(f"{said}; that settles what the measurements only suggest")
        elif kind_of(seen.type) in open_kinds:
            findings.append(_finding(seen, features, pair))
            settled.add(kind_of(seen.type))
            notes.append(f"{said}; that settles what the measurements left undecided")
        else:
            notes.append(f"{said}; the measurements do not bear it out")
    doubts = [
        doubt._replace(kinds=left)
        for doubt in detection.doubts
        if (left := tuple(kind for kind in doubt.kinds if kind not in settled))
    ]
    # An abstention without doubts is that of the comparison with a reference, which no opinion answers.
    abstained = detection.abstained if doubts or not detection.doubts else None
    findings.sort(key=lambda item: -item.confidence * item.severity.rank)
    return dataclasses.replace(detection, findings=findings, doubts=doubts, abstained=abstained), notes


def _finding(seen: Suspicion, features: ImageFeatures, pair: PairFeatures | None) -> DistortionFinding:
    measured = assess(seen.type, features, pair, confidence=SURE, why=f"the chat model sees it: {seen.why.rstrip('.')}")
    if measured.severity is not Severity.NONE:
        return measured
    sentence = (
        f"{in_words(seen.type).capitalize()} is {seen.severity.value} in the chat model's opinion: "
        f"{seen.why.rstrip('.')}. Measured: {measured.explanation}"
    )
    return measured.model_copy(update={"severity": seen.severity, "explanation": sentence})
