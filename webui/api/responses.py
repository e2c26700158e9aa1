"""The errors that a route may give, for its description."""

from __future__ import annotations

from typing import Any

from webui.errors import Problem

_ABOUT = {
    400: "The body cannot be read",
    401: "Accounts are on, and no valid token was sent",
    403: "The role does not allow it, or the request came from another site",
    404: "No such thing; the detail says what there is",
    409: "A request with the same idempotency key is still worked on",
    413: "The body is too large",
    422: "Something in the request cannot be used; the detail says what",
    429: "Too many requests; `Retry-After` says for how many seconds to wait",
    502: "The tool's backend did not answer",
    503: "No model can be loaded, or the database fails; the detail says what to do",
}
_ALWAYS = (401, 403, 429, 503)


def error_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Descriptions of these statuses, and of those that every route may give."""
    content = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {s: {"description": _ABOUT[s], "model": Problem, "content": content} for s in sorted({*statuses, *_ALWAYS})}
