"""Evidence about an image, written by hand."""

from typing import Any

from loopwright.workflows.iqa.schemas import DistortionFinding, ExecutorOutput, ToolLog


def evidence(
    *found: tuple[str, str], score: float | None = 3.2, scope: str = "Global", **fields: Any
) -> ExecutorOutput:
    """What an executor would hand over that looked for everything and found distortions of some severity."""
    findings = [
        DistortionFinding(
            type=name, severity=severity, confidence=0.9, explanation=f"{name} is {severity}.", measured={"value": 2.5}
        )
        for name, severity in found
    ]
    log = ToolLog(tool="MDSI", region=scope, raw=0.35, score=score)
    return ExecutorOutput(
        **{
            "distortion_set": {scope: [item.type for item in findings]},
            "distortion_analysis": {scope: findings},
            "selected_tools": ["MDSI", "GMSD"],
            "quality_scores": {} if score is None else {"MDSI": score, "GMSD": 3.0},
            "tool_logs": [] if score is None else [log, ToolLog(tool="GMSD", region=scope, raw=0.05, score=3.0)],
            "primary_tool": "MDSI",
            **fields,
        }
    )
