"""The description of the API in full: the events of streams too, which FastAPI cannot see."""

import asyncio
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse
from pydantic import TypeAdapter

from loopwright.server.layers import VERSION

REFERENCE = "#/components/schemas/{model}"


def streamed(events: str, description: str) -> dict[str, Any]:
    """A reply that is a stream of events, as a route describes it; `events` names the schema of an event's data."""
    text, schema = {"type": "string"}, {"$ref": REFERENCE.format(model=events)}
    data = text | {"contentMediaType": "application/json", "contentSchema": schema}
    properties = {"data": data, "event": text, "id": text}
    item = {"type": "object", "required": [*properties], "properties": properties}
    return {"description": description, "content": {"text/event-stream": {"itemSchema": item}}}


def describe(app: FastAPI, more: Mapping[str, Any]) -> None:
    """Have an application describe itself at ``/openapi.json``, with schemas (name -> type) that FastAPI cannot see."""

    def described() -> dict[str, Any]:
        if app.openapi_schema is None:
            made = get_openapi(title=app.title, version=app.version, routes=app.routes, description=app.description)
            schemas: dict[str, Any] = made.setdefault("components", {}).setdefault("schemas", {})
            for name, type in more.items():
                schema = TypeAdapter(type).json_schema(ref_template=REFERENCE, mode="serialization")
                for each, definition in schema.pop("$defs", {}).items():
                    schemas.setdefault(each, definition)
                schemas[name] = schema
            made["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
            # A server on the loopback may have no token.
            made |= {"security": [{"token": []}, {}]}
            app.openapi_schema = made
        return app.openapi_schema

    app.openapi = described

    @app.get("/openapi.json", include_in_schema=False)
    async def described_in_full(request: Request) -> JSONResponse:  # pyright: ignore[reportUnusedFunction]
        """The description of the API, with its address as seen from here: a proxy may put all of it below a path."""
        servers = [{"url": f"{'..' if VERSION in request.scope else '.'}{VERSION}"}]
        # It takes a second to make; runs go on meanwhile.
        return JSONResponse(await asyncio.to_thread(app.openapi) | {"servers": servers})
