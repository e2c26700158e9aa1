"""The API's reference page, made from its own OpenAPI description: no outside resource, no script."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from webui.views.contexts import Page
from webui.views.templating import render

api_docs = APIRouter(include_in_schema=False)
Schema = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ApiField:
    """One parameter or property."""

    name: str
    type: str
    required: bool
    about: str


@dataclass(frozen=True, slots=True)
class ApiAnswer:
    """One response of an operation."""

    status: str
    about: str
    shape: str


@dataclass(frozen=True, slots=True)
class ApiOperation:
    """One route of the API."""

    id: str
    method: str
    path: str
    title: str
    about: str
    parameters: tuple[ApiField, ...]
    body: tuple[ApiField, ...]
    example: str
    answers: tuple[ApiAnswer, ...]


@dataclass(frozen=True, slots=True)
class ApiShape:
    """One named schema."""

    name: str
    about: str
    fields: tuple[ApiField, ...]


@dataclass(frozen=True, slots=True)
class ApiPage(Page):
    """The API reference, from the OpenAPI description."""

    template: ClassVar[str] = "api.html"
    here: ClassVar[str] = "api"
    operations: tuple[ApiOperation, ...]
    shapes: tuple[ApiShape, ...]


@api_docs.get("/api/docs")
def docs(request: Request) -> Response:
    """The HTML page, or the OpenAPI document for clients that accept JSON."""
    description = request.app.openapi()
    if "application/json" in request.headers.get("accept", ""):
        return JSONResponse(description)
    return render(request, api_page(description, str(request.base_url).rstrip("/")))


def api_page(description: Schema, base: str) -> ApiPage:
    """The page of an OpenAPI document; ``base`` is the server's address for the examples."""
    shapes = description.get("components", {}).get("schemas", {})
    operations = tuple(
        _operation(method, path, entry, shapes, base)
        for path, methods in description["paths"].items()
        for method, entry in methods.items()
    )
    named = tuple(
        ApiShape(name, shape.get("description", ""), _fields(shape))
        for name, shape in sorted(shapes.items())
        if "properties" in shape
    )
    return ApiPage(operations, named)


def _operation(method: str, path: str, entry: Schema, shapes: Schema, base: str) -> ApiOperation:
    body: Schema = entry.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    shape: Schema = shapes.get(_name(body), {})
    parameters = tuple(
        ApiField(p["name"], _type(p["schema"]), p.get("required", False), p.get("description", ""))
        for p in entry.get("parameters", [])
    )
    answers = tuple(ApiAnswer(status, a.get("description", ""), _answer_shape(a)) for status, a in entry["responses"].items())
    return ApiOperation(
        id=entry["operationId"],
        method=method.upper(),
        path=path,
        title=entry.get("summary", ""),
        about=entry.get("description", ""),
        parameters=parameters,
        body=_fields(shape),
        example=_example(method, base + path, shape),
        answers=answers,
    )


def _example(method: str, address: str, shape: Schema) -> str:
    examples = shape.get("examples", [])
    if method == "get":
        return f"curl {address}"
    if not examples:
        return f"curl -X {method.upper()} {address}"
    return f"curl {address} -H 'content-type: application/json' -d '{json.dumps(examples[0])}'"


def _fields(shape: Schema) -> tuple[ApiField, ...]:
    required = shape.get("required", [])
    return tuple(
        ApiField(name, _type(entry), name in required, entry.get("description", ""))
        for name, entry in shape.get("properties", {}).items()
    )


def _answer_shape(answer: Schema) -> str:
    schemas = [content.get("schema", {}) for content in answer.get("content", {}).values()]
    return _type(schemas[0]) if schemas and schemas[0] else ""


def _type(schema: Schema) -> str:
    if "$ref" in schema:
        return _name(schema)
    if "anyOf" in schema:
        return " or ".join(_type(s) for s in schema["anyOf"])
    if "enum" in schema:
        return " or ".join(json.dumps(v) for v in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return str(schema.get("type", "any"))


def _name(schema: Schema) -> str:
    return str(schema.get("$ref", "")).rpartition("/")[2]
