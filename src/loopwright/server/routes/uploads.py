"""Files that runs take as input."""

from typing import Any

from fastapi import APIRouter, UploadFile
from fastapi.responses import FileResponse

from loopwright.server.context import Here
from loopwright.server.problems import PROBLEM
from loopwright.server.uploads import Upload

router = APIRouter(tags=["uploads"])

CONTENT: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The file as it was given.",
        "content": {"*/*": {"schema": {"type": "string", "format": "binary"}}},
    },
    404: PROBLEM,
}
HARMLESS = {"Content-Security-Policy": "default-src 'none'; sandbox", "Cache-Control": "private, max-age=3600"}
"""What keeps a browser from running anything that a file holds."""


@router.post("/uploads", status_code=201, operation_id="upload", responses={507: PROBLEM})
async def upload(file: UploadFile, context: Here) -> Upload:
    """Keep a picture, a PDF or a text, so that a run can take it; its content decides what it is."""
    return await context.uploads.keep(file)


@router.get("/uploads/{upload_id}", operation_id="get_upload", response_class=FileResponse, responses=CONTENT)
async def get_upload(upload_id: str, context: Here) -> FileResponse:
    """Give a file back, or one of the pictures that ship with a workflow."""
    samples = {name: path for hosted in context.hub.workflows.values() for name, path in hosted.samples.items()}
    if sample := samples.get(upload_id):
        return FileResponse(sample, filename=sample.name, content_disposition_type="inline", headers=HARMLESS)
    about, path = context.uploads.find(upload_id)
    # Only a picture that was decoded here is for showing.
    disposition = "inline" if about.width else "attachment"
    return FileResponse(
        path, media_type=about.content_type, filename=about.name, content_disposition_type=disposition, headers=HARMLESS
    )
