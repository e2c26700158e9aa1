"""An answer: its cards, running queries, and what people say of them."""

from __future__ import annotations

from typing import get_args

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse, Response

from revelio.errors import InvalidInputError, NotFoundError, SourceError
from revelio.service import Service
from revelio.store import Verdict
from webui.api.schemas import MAX_NOTE
from webui.deps import ServiceDep
from webui.forms import read_form
from webui.views.answer import answer_page, card, shown
from webui.views.contexts import CardPart
from webui.views.filters import shorten
from webui.views.templating import render

router = APIRouter(include_in_schema=False)

PART = "x-revelio-part"
"""A request with this header gets a card alone, to be put in the place of the old one."""

BY_EVIDENCE = "evidence"
"""The order (``?order=``) of what came back; without it, cards stand in the model's own."""

WITHDRAWN = "withdrawn"
"""What the form sends instead of a verdict to take the last one back."""

_FIRST = 3


@router.get("/r/{answer_id}")
def show(request: Request, answer_id: str, service: ServiceDep, order: str = "") -> Response:
    """An answer, at an address that can be shared."""
    return render(request, answer_page(service, service.answer(answer_id), reordered=order == BY_EVIDENCE))


@router.post("/r/{answer_id}/run")
async def run(request: Request, answer_id: str, service: ServiceDep) -> Response:
    """Run a query; its evidence stands in its card from then on."""
    form = await read_form(request)
    query_id = form.get("query_id", "")

    def run_it() -> Response:
        failure = ""
        try:
            service.run(answer_id, query_id)
        except (SourceError, NotFoundError) as error:
            failure = str(error)
        return _after(request, service, answer_id, query_id, form.get("order", ""), failure)

    return await run_in_threadpool(run_it)


@router.post("/r/{answer_id}/run-first")
def run_first(answer_id: str, service: ServiceDep, order: str = "") -> Response:
    """Run the first three at once, or the next three in the order of what came back; then show the answer in that order."""
    service.run_first(answer_id, _FIRST, by_evidence=order == BY_EVIDENCE)
    return RedirectResponse(f"{_address(answer_id, BY_EVIDENCE)}#cards", 303)


@router.get("/r/{answer_id}/run")
@router.get("/r/{answer_id}/run-first")
@router.get("/r/{answer_id}/feedback")
def reloaded(answer_id: str, order: str = "") -> Response:
    """Where the reload of an address that a form was sent to ends up."""
    return RedirectResponse(_address(answer_id, order), 303)


@router.post("/r/{answer_id}/feedback")
async def feedback(request: Request, answer_id: str, service: ServiceDep) -> Response:
    """Keep a verdict, or take it back."""
    form = await read_form(request)
    query_id, said = form.get("query_id", ""), form.get("verdict", "")
    verdict = next((v for v in get_args(Verdict) if v == said), None)
    if verdict is None and said != WITHDRAWN:
        raise InvalidInputError(f"{shorten(said, 40)!r} is no verdict; there are: {', '.join(get_args(Verdict))}")

    note = form.get("note", "").strip()
    if len(note) > MAX_NOTE or "\x00" in note:
        raise InvalidInputError(f"the note is not plain text of at most {MAX_NOTE:,} characters; shorten it")

    def keep_it() -> Response:
        if verdict is None:
            service.withdraw_feedback(answer_id, query_id)
        else:
            service.feedback(answer_id, query_id, verdict, note)
        return _after(request, service, answer_id, query_id, form.get("order", ""))

    return await run_in_threadpool(keep_it)


def _after(request: Request, service: Service, answer_id: str, query_id: str, order: str, failure: str = "") -> Response:
    saved = service.answer(answer_id)
    view = shown(service, saved, order == BY_EVIDENCE)
    found = next(
        ((q, why) for q, why in zip(view.recommendation.queries, view.moved, strict=True) if q.query.id == query_id), None
    )
    if found is None:
        raise NotFoundError(f"no query {query_id!r} in this answer")
    if PART in request.headers:
        return render(request, CardPart(card(service, saved, *found, failure), view.reordered))
    if failure:
        return render(request, answer_page(service, saved, reordered=view.reordered, failure=(query_id, failure)))
    return RedirectResponse(f"{_address(answer_id, order)}#query-{query_id}", 303)


def _address(answer_id: str, order: str) -> str:
    return f"/r/{answer_id}?order={BY_EVIDENCE}" if order == BY_EVIDENCE else f"/r/{answer_id}"
