"""The question."""

from __future__ import annotations

import logging
import time
from datetime import UTC

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import PlainTextResponse, RedirectResponse, Response

from revelio.errors import DatasetError, InvalidInputError, NotFoundError, RevelioError
from revelio.service import Service
from revelio.service.request import RecommendRequest
from revelio.store import SavedAnswer
from revelio.support.progress import Progress, followed
from revelio.systems.health import Health
from revelio.systems.incidents.recorded import RecordedIncident
from revelio.systems.time_range import TimeRange, parse_time_range
from webui.deps import ServiceDep, health_of
from webui.errors import status_of
from webui.forms import normalize_text, read_form, zone_of
from webui.i18n import gettext, ngettext
from webui.pages.progress import Questions
from webui.views.contexts import AskedTime, AskPage, Choice, Example
from webui.views.filters import masked_words, sentence, shorten
from webui.views.templating import render

log = logging.getLogger(__name__)
router = APIRouter(include_in_schema=False)

_FIRST = 3
"""So many queries of a recorded incident are run before its answer is shown."""

_WAIT_S = 0.4
"""How long the question waits to hear which data sources answer."""


@router.get("/")
def ask(
    request: Request,
    service: ServiceDep,
    incident: str = "",
    again: str = "",
    system: str = "",
    since: str = "",
    at: str = "",
    window: str = "",
) -> Response:
    """The question: empty, about a system, or filled from a recorded incident or an earlier answer (``again``).

    ``since``, ``at`` and ``window`` fill the fields of the time, as a proposal on an answer does.
    """
    report, chosen = "", f"system:{system}" if system in service.systems else ""
    recorded = _recorded(service)
    if again:
        saved = service.answer(again)
        report, chosen = saved.recommendation.incident.report, _value(saved)
    elif incident:
        found = next((r for r in recorded if r.id == incident), None)
        if found is None:
            raise NotFoundError(gettext("no recorded incident %(id)r; the page's list shows those there are") % {"id": incident})
        report, chosen = found.report, f"incident:{found.id}"
    return render(request, _ask_page(request, service, recorded, report, chosen, AskedTime(since, at, window)))


@router.post("/r")
async def answer(request: Request, service: ServiceDep) -> Response:
    """Ask; on to the answer's own address, or back to the question with everything still in it."""
    form = await read_form(request)
    report, about, at = form.get("report", ""), form.get("about", ""), form.get("at", "")
    since, window = form.get("since", ""), form.get("window", "")
    kind, _, name = about.partition(":")

    def ask_it() -> Response:
        waiting = None
        try:
            waiting = _followed(request, service, form.get("progress", ""), name) if kind == "system" else None
            if kind not in ("system", "incident") or not name:
                raise InvalidInputError(gettext("choose a system or a recorded incident"))
            zone = zone_of(form.get("behind", ""))
            when = parse_time_range(since, at, window, now=time.time(), zone=zone or UTC)
            if when != TimeRange() and kind == "incident":
                raise InvalidInputError(gettext("a recorded incident has its own time; clear the time, or choose a live system"))
            system, incident = (name, None) if kind == "system" else (None, name)
            first = _FIRST if incident is not None else 0  # what was recorded is there at once
            question = RecommendRequest(normalize_text(report), system, incident, run=first, time=when, zone=zone)
            with followed(waiting):
                made = service.recommend(question)
            return PlainTextResponse(f"/r/{made.id}") if waiting else RedirectResponse(f"/r/{made.id}", 303)
        except RevelioError as error:
            if waiting:
                return PlainTextResponse(sentence(str(error)), status_of(error))
            page = _ask_page(request, service, _recorded(service), report, about, AskedTime(since, at, window), str(error))
            return render(request, page, status=status_of(error))

    return await run_in_threadpool(ask_it)


@router.get("/r")
def no_answer() -> Response:
    """Where a reload of a refused question ends up."""
    return RedirectResponse("/", 303)


def _followed(request: Request, service: Service, question_id: str, system: str) -> Progress | None:
    """What a page that waits is told; None for one that does not, or a system that there is not."""
    if not question_id or system not in service.systems:
        return None
    questions: Questions = request.app.state.questions
    return questions.begin(question_id, service.system(system).sources.titles)


def _ask_page(
    request: Request,
    service: Service,
    recorded: tuple[RecordedIncident, ...],
    report: str,
    chosen: str,
    when: AskedTime | None = None,
    refused: str = "",
) -> AskPage:
    health = health_of(request, service, service.systems, _WAIT_S)
    systems = tuple(_live_choice(name, health[name]) for name in service.systems)
    incidents = tuple(Choice(f"incident:{r.id}", f"{r.system} · {shorten(r.report, 70) or r.id}") for r in recorded)
    return AskPage(
        report=report,
        chosen=chosen or _first_choice(systems),
        systems=systems,
        recorded=incidents,
        examples=_examples(recorded),
        max_chars=service.settings.max_report_chars,
        masks=masked_words(service.settings.mask),
        when=when or AskedTime(),
        refused=refused,
        troubles=tuple(t for t in service.troubles() if t != refused),
    )


def _live_choice(name: str, health: Health) -> Choice:
    """A live system, with what is wrong with its data sources."""
    down = len(health.tools) - health.up
    if health.trouble or (health.at is not None and not health.up):
        return Choice(f"system:{name}", gettext("%(name)s (no data source answers)") % {"name": name}, usable=False)
    words = ngettext(
        "%(name)s (%(down)s of %(all)s data sources down)", "%(name)s (%(down)s of %(all)s data sources down)", len(health.tools)
    )
    label = words % {"name": name, "down": down, "all": len(health.tools)} if down else name
    return Choice(f"system:{name}", label, usable=health.at is not None and health.up > 0)


def _first_choice(systems: tuple[Choice, ...]) -> str:
    """A live system that can be seen, else any; never a recorded incident, which a report of today is not about."""
    offered = (*(s for s in systems if s.usable), *systems)
    return offered[0].value if offered else ""


def _examples(recorded: tuple[RecordedIncident, ...]) -> tuple[Example, ...]:
    """Three reports of a readable length, far apart in the list."""
    fitting = [Example(r.id, r.report) for r in recorded if 20 <= len(r.report) <= 220]
    step = max(1, len(fitting) // 3)
    return tuple(fitting[::step][:3])


def _recorded(service: Service) -> tuple[RecordedIncident, ...]:
    # Live systems can be asked about even when the recordings cannot be read: the page says so instead of failing.
    try:
        return service.recorded()
    except DatasetError as error:
        log.warning("recorded incidents: %s", error)
        return ()


def _value(saved: SavedAnswer) -> str:
    return f"incident:{saved.recorded}" if saved.recorded else f"system:{saved.recommendation.incident.system}"
