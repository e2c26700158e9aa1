"""The errors that a route may give, for its description."""

from __future__ import annotations

from typing import Any

from webui.errors import Problem

_ABOUT = {
    400: "The body cannot be parsed",
    401: "Accounts are on and the request has no valid token",
    403: "The role lacks the permission, or the request came from another site",
    404: "Not found; the detail lists what exists",
    409: "A request with the same idempotency key is in progress",
    413: "The body is too large",
    422: "Invalid input; the detail says what to change",
    429: "Too many requests; wait `Retry-After` seconds",
    502: "The data source did not answer",
    503: "No usable model or database; the detail says what to do",
}
_ALWAYS = (401, 403, 429, 503)


def error_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Descriptions of these statuses, and of those that every route may give."""
    content = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {s: {"description": _ABOUT[s], "model": Problem, "content": content} for s in sorted({*statuses, *_ALWAYS})}
