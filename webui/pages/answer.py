"""An answer: its cards, running queries, and what people say of them."""

from __future__ import annotations

from typing import get_args
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import PlainTextResponse, RedirectResponse, Response

from revelio.errors import InvalidInputError, NotFoundError, SourceError
from revelio.service import Service
from revelio.store import SavedAnswer, Verdict, allows
from revelio.support.current_actor import current_actor
from webui.accounts.identity import person_of
from webui.api.schemas import MAX_NOTE
from webui.deps import ServiceDep
from webui.forms import read_form
from webui.i18n import gettext
from webui.views.answer import answer_page, card, shown
from webui.views.answer_contexts import CardPart
from webui.views.filters import shorten, whole
from webui.views.markdown import post_mortem
from webui.views.templating import render

router = APIRouter(include_in_schema=False)

PART = "x-revelio-part"
"""A request with this header gets a card alone, to be put in the place of the old one."""

ORIGINAL = "original"
"""The order (``?order=``) in which the answer was given; without it, queries stand re-ranked as soon as there are results."""

WITHDRAWN = "withdrawn"
"""What the form sends instead of a verdict to take the last one back."""

_FIRST = 3


@router.get("/r/{answer_id}")
def show(request: Request, answer_id: str, service: ServiceDep, order: str = "", query: str = "") -> Response:
    """An answer, at an address that can be shared; ``query`` is the one whose evidence is shown."""
    return _page(request, service, service.answer(answer_id), order, query)


@router.get("/r/{answer_id}/revision")
def revision(answer_id: str, service: ServiceDep) -> Response:
    """What changes when anybody runs, judges or resolves; an open page asks for it."""
    return PlainTextResponse(service.store.resolutions.revision(answer_id))


@router.get("/r/{answer_id}/post-mortem.md")
def post_mortem_draft(request: Request, answer_id: str, service: ServiceDep) -> Response:
    """A draft of the post-mortem, in Markdown."""
    page = answer_page(service, service.answer(answer_id), str(request.base_url))
    headers = {"Content-Disposition": f'attachment; filename="post-mortem-{page.id}.md"'}
    return PlainTextResponse(post_mortem(page), media_type="text/markdown; charset=utf-8", headers=headers)


@router.post("/r/{answer_id}/resolve")
async def resolve(request: Request, answer_id: str, service: ServiceDep) -> Response:
    """Mark the incident as resolved with its cause, or as open again."""
    form = await read_form(request)
    cause = _note(form.get("cause", ""))

    def keep_it() -> Response:
        if "reopen" in form:
            service.store.resolutions.reopen(answer_id, current_actor())
        else:
            service.resolve(answer_id, cause, form.get("query_id") or None)
        return RedirectResponse(f"{_address(answer_id, '')}#after", 303)

    return await run_in_threadpool(keep_it)


@router.post("/r/{answer_id}/run")
async def run(request: Request, answer_id: str, service: ServiceDep) -> Response:
    """Run a query; its evidence stands in its card from then on."""
    form = await read_form(request)
    query_id = form.get("query_id", "")

    def run_it() -> Response:
        failure, saved = "", service.answer(answer_id)
        try:
            saved = service.run(saved, query_id)
        except (SourceError, NotFoundError) as error:
            failure = str(error)
        return _after(request, service, saved, query_id, form.get("order", ""), failure)

    return await run_in_threadpool(run_it)


@router.post("/r/{answer_id}/run-first")
def run_first(answer_id: str, service: ServiceDep, order: str = "") -> Response:
    """Run the first three at once, or the next three after results; then show the answer re-ranked."""
    service.run_first(service.answer(answer_id), _FIRST, reranked=order != ORIGINAL)
    return RedirectResponse(f"{_address(answer_id, '')}#cards", 303)


@router.get("/r/{answer_id}/run")
@router.get("/r/{answer_id}/run-first")
@router.get("/r/{answer_id}/feedback")
@router.get("/r/{answer_id}/resolve")
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
        raise InvalidInputError(
            gettext("%(verdict)r is no verdict; there are: %(verdicts)s")
            % {"verdict": shorten(said, 40), "verdicts": ", ".join(get_args(Verdict))}
        )

    note = _note(form.get("note", ""))

    def keep_it() -> Response:
        if verdict is None:
            service.withdraw_feedback(answer_id, query_id)
        else:
            service.feedback(answer_id, query_id, verdict, note)
        return _after(request, service, service.answer(answer_id), query_id, form.get("order", ""))

    return await run_in_threadpool(keep_it)


def _after(request: Request, service: Service, saved: SavedAnswer, query_id: str, order: str, failure: str = "") -> Response:
    if PART in request.headers:
        view = shown(service, saved, order != ORIGINAL)
        both = zip(view.recommendation.queries, view.moved, strict=True)
        found = next(((q, why) for q, why in both if q.query.id == query_id), None)
        if found is None:
            raise NotFoundError(gettext("no query %(id)r in this answer") % {"id": query_id})
        return render(request, CardPart(card(service, saved, *found, failure), view.reordered, query_id, order == ORIGINAL))
    if failure:
        if all(q.query.id != query_id for q in saved.recommendation.queries):
            raise NotFoundError(gettext("no query %(id)r in this answer") % {"id": query_id})
        return _page(request, service, saved, order, query_id, (query_id, failure))
    return RedirectResponse(f"{_address(saved.id, order, query_id)}#query-{query_id}", 303)


def _page(
    request: Request, service: Service, saved: SavedAnswer, order: str, query: str, failure: tuple[str, str] = ("", "")
) -> Response:
    person = person_of(request)
    page = answer_page(
        service,
        saved,
        str(request.base_url),
        original=order == ORIGINAL,
        selected=query,
        failure=failure,
        may_change=person is None or allows(person.role, "responder"),
        with_similar=not request.app.state.demo,
    )
    return render(request, page)


def _note(typed: str) -> str:
    note = typed.strip()
    if len(note) > MAX_NOTE or "\x00" in note:
        raise InvalidInputError(
            gettext("the note is not plain text of at most %(limit)s characters; shorten it") % {"limit": whole(MAX_NOTE)}
        )
    return note


def _address(answer_id: str, order: str, query: str = "") -> str:
    fields = urlencode({k: v for k, v in {"order": ORIGINAL * (order == ORIGINAL), "query": query}.items() if v})
    return f"/r/{answer_id}?{fields}" if fields else f"/r/{answer_id}"
