"""Lists in pages: what comes after the last entry seen, so that pages hold still while entries are added."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.exceptions import HTTPException
from starlette.requests import Request

_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Page:
    """``after`` is the key of the last entry of the page before; None for the first page."""

    after: int | None
    size: int


def page(request: Request, default: int = 20, most: int = 50) -> Page:
    """``?after=123&size=20``; 400 on what makes no sense."""
    after = _whole(request, "after", 0, _LARGEST)
    return Page(after, _whole(request, "size", 1, most) or default)


def _whole(request: Request, name: str, least: int, most: int) -> int | None:
    text = request.query_params.get(name, "")
    if not text:
        return None
    # Digits of other scripts are numbers to int() but not to an address.
    if not (text.isascii() and text.isdigit() and len(text) < 20 and least <= int(text) <= most):
        raise HTTPException(400, f"{name} must be a whole number from {least} to {most}")
    return int(text)
