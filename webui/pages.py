"""The pages, for people. Plain forms: everything works without scripts, and a script may ask for a card alone."""

from __future__ import annotations

import logging
from typing import get_args
from urllib.parse import parse_qs

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse, Response

from revelio.errors import DatasetError, InvalidInputError, NotFoundError, RevelioError, SourceError
from revelio.incidents.recorded import RecordedIncident
from revelio.store import SavedAnswer, Verdict
from webui.api import TheDesk
from webui.cards import answer_page, card
from webui.contexts import AskPage, CardPart, Choice, Example, HistoryPage
from webui.desk import Desk, Question
from webui.problems import status_of
from webui.rendering import render
from webui.schemas import MAX_NOTE
from webui.wording import moment, shorten

log = logging.getLogger(__name__)
pages = APIRouter(include_in_schema=False)

PART = "x-revelio-part"
"""A request with this header gets a card alone, to be put in the place of the old one."""

_PAGE = 40


@pages.get("/")
def ask(request: Request, desk: TheDesk, incident: str = "", again: str = "") -> Response:
    """The question: empty, or filled from a recorded incident (``incident``) or an earlier answer (``again``)."""
    report, chosen = "", ""
    recorded = _recorded(desk)
    if again:
        saved = desk.answer(again)
        report, chosen = saved.recommendation.incident.report, _value(saved)
    elif incident:
        found = next((r for r in recorded if r.id == incident), None)
        if found is None:
            raise NotFoundError(f"no recorded incident {incident!r}; the page's list shows those there are")
        report, chosen = found.report, f"incident:{found.id}"
    return render(request, _ask_page(desk, recorded, report, chosen))


@pages.post("/r")
async def answer(request: Request, desk: TheDesk) -> Response:
    """Ask; on to the answer's own address, or back to the question with everything still in it."""
    form = await read_form(request)
    report, about = form.get("report", ""), form.get("about", "")
    kind, _, name = about.partition(":")

    def ask_it() -> Response:
        try:
            if kind not in ("system", "incident") or not name:
                raise InvalidInputError("choose the system, or the recorded incident, that the report is about")
            question = Question(report, system=name if kind == "system" else None, incident=name if kind == "incident" else None)
            return RedirectResponse(f"/r/{desk.ask(question).id}", 303)
        except RevelioError as error:
            page = _ask_page(desk, _recorded(desk), report, about, refused=str(error))
            return render(request, page, status=status_of(error))

    return await run_in_threadpool(ask_it)


@pages.get("/r")
def no_answer() -> Response:
    """Where a reload of a refused question ends up."""
    return RedirectResponse("/", 303)


@pages.get("/r/{answer_id}")
def show(request: Request, answer_id: str, desk: TheDesk) -> Response:
    """An answer, at an address that can be shared."""
    return render(request, answer_page(desk, desk.answer(answer_id)))


@pages.post("/r/{answer_id}/run")
async def run(request: Request, answer_id: str, desk: TheDesk) -> Response:
    """Run a query; its evidence stands in its card from then on."""
    query_id = (await read_form(request)).get("query_id", "")

    def run_it() -> Response:
        failure = ""
        try:
            desk.run(answer_id, query_id)
        except (SourceError, NotFoundError) as error:
            failure = str(error)
        return _after(request, desk, answer_id, query_id, failure)

    return await run_in_threadpool(run_it)


@pages.post("/r/{answer_id}/feedback")
async def feedback(request: Request, answer_id: str, desk: TheDesk) -> Response:
    """Keep a verdict."""
    form = await read_form(request)
    query_id, said = form.get("query_id", ""), form.get("verdict", "")
    verdict = next((v for v in get_args(Verdict) if v == said), None)
    if verdict is None:
        raise InvalidInputError(f"{shorten(said, 40)!r} is no verdict; there are: {', '.join(get_args(Verdict))}")

    note = form.get("note", "").strip()
    if len(note) > MAX_NOTE or "\x00" in note:
        raise InvalidInputError(f"the note is not plain text of at most {MAX_NOTE:,} characters; shorten it")

    def keep_it() -> Response:
        desk.feedback(answer_id, query_id, verdict, note)
        return _after(request, desk, answer_id, query_id)

    return await run_in_threadpool(keep_it)


@pages.get("/history")
def history(request: Request, desk: TheDesk, before: float | None = None) -> Response:
    """Earlier answers, newest first."""
    entries = desk.history(_PAGE + 1, before)
    shown = entries[:_PAGE]
    return render(request, HistoryPage(shown, shown[-1].saved_at if len(entries) > _PAGE else None))


async def read_form(request: Request) -> dict[str, str]:
    """The fields of a URL-encoded form; ``InvalidInputError`` when it is not one, or not UTF-8."""
    if not request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        raise InvalidInputError("the form is not URL-encoded; send it from the page, or use the API at /api/docs")
    try:
        fields = parse_qs((await request.body()).decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=20)
    except ValueError as error:
        raise InvalidInputError("the form is not valid UTF-8 text; paste the report as plain text") from error
    return {name: values[-1].replace("\r\n", "\n") for name, values in fields.items()}


def _after(request: Request, desk: Desk, answer_id: str, query_id: str, failure: str = "") -> Response:
    saved = desk.answer(answer_id)
    ranked = next((q for q in saved.recommendation.queries if q.query.id == query_id), None)
    if ranked is None:
        raise NotFoundError(f"no query {query_id!r} in this answer")
    if PART in request.headers:
        return render(request, CardPart(card(desk, saved, ranked, failure)))
    if failure:
        return render(request, answer_page(desk, saved, (query_id, failure)))
    return RedirectResponse(f"/r/{answer_id}#query-{ranked.rank}", 303)


def _ask_page(desk: Desk, recorded: tuple[RecordedIncident, ...], report: str, chosen: str, refused: str = "") -> AskPage:
    systems = tuple(Choice(f"system:{name}", name) for name in desk.bench.systems)
    incidents = tuple(Choice(f"incident:{r.id}", f"{moment(r.opened_at)} · {shorten(r.report, 60) or r.id}") for r in recorded)
    offered = systems + incidents
    return AskPage(
        report=report,
        chosen=chosen or (offered[0].value if offered else ""),
        systems=systems,
        recorded=incidents,
        examples=_examples(recorded),
        max_chars=desk.bench.settings.max_report_chars,
        refused=refused,
        troubles=tuple(t for t in desk.troubles() if t != refused),
    )


def _examples(recorded: tuple[RecordedIncident, ...]) -> tuple[Example, ...]:
    """Three reports of a readable length, far apart in the list."""
    fitting = [Example(r.id, r.report) for r in recorded if 20 <= len(r.report) <= 220]
    step = max(1, len(fitting) // 3)
    return tuple(fitting[::step][:3])


def _recorded(desk: Desk) -> tuple[RecordedIncident, ...]:
    # Live systems can be asked about even when the recordings cannot be read: the page says so instead of failing.
    try:
        return desk.recorded()
    except DatasetError as error:
        log.warning("recorded incidents: %s", error)
        return ()


def _value(saved: SavedAnswer) -> str:
    return f"incident:{saved.recorded}" if saved.recorded else f"system:{saved.recommendation.incident.system}"
