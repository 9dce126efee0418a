"""The quality of a picture."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Form, UploadFile

from loopwright.server.answering import WorkflowAnswer, answer_with
from loopwright.server.context import Here
from loopwright.server.problems import PROBLEM

router = APIRouter(prefix="/iqa", tags=["iqa"])

ASSESSED: dict[int | str, dict[str, Any]] = {status: PROBLEM for status in (404, 500, 503, 507)}
DEFAULT_QUERY = "What is the quality of this image, and what is wrong with it?"


@router.post("/assess", operation_id="assess_picture", responses=ASSESSED)
async def assess(
    context: Here,
    image: UploadFile,
    reference: UploadFile | None = None,
    query: Annotated[str, Form(max_length=10_000, description="The question.")] = DEFAULT_QUERY,
    max_replan_iterations: Annotated[int | None, Form(ge=0, le=20, description="Replans that are allowed.")] = None,
) -> WorkflowAnswer:
    """Assess a picture, alone or against a pristine one, in one piece."""
    context.workflow("iqa")
    kept = {"image": await context.uploads.keep(image)}
    if reference is not None:
        kept["reference"] = await context.uploads.keep(reference)
    given: dict[str, Any] = {name: upload.id for name, upload in kept.items()}
    given["query"] = query
    if max_replan_iterations is not None:
        given["max_replan_iterations"] = max_replan_iterations
    return await answer_with(context, "iqa", given)
