"""What an image's distortion is taken to be: stated by the pipeline's evidence, or by the detector alone."""

from __future__ import annotations

from loopwright.workflows.iqa.answering.fusion import recognised
from loopwright.workflows.iqa.distortions import Severity
from loopwright.workflows.iqa.images import LoadedImage
from loopwright.workflows.iqa.measuring.detection import detect
from loopwright.workflows.iqa.measuring.features import measure, measure_pair
from loopwright.workflows.iqa.schemas import ExecutorOutput


def stated(evidence: ExecutorOutput) -> tuple[str | None, bool]:
    """The strongest distortion that the evidence is sure of, and whether it is sure that there is none.

    Args:
        evidence: What was measured.
    """
    findings = [item for items in evidence.distortion_analysis.values() for item in items]
    sure = recognised(findings)
    abstained = bool(evidence.undecided) or any("abstained" in note for note in evidence.notes)
    clean = all(item.severity is Severity.NONE for item in findings)
    return sure, sure is None and clean and not abstained


def detected(image: LoadedImage, reference: LoadedImage) -> tuple[str | None, bool]:
    """The strongest distortion that the detector is sure of, and whether it is sure that there is none.

    Args:
        image: The image in question.
        reference: The pristine image, of the same size.
    """
    found = detect(measure(image.rgb), measure_pair(image.rgb, reference.rgb))
    return recognised(found.findings), not found.findings and found.abstained is None
