"""Earlier answers, searched."""

from __future__ import annotations

from typing import get_args
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import Response

from revelio.errors import InvalidInputError
from revelio.store.history import Judged, Search, SearchPage, asked_systems, search_history
from webui.deps import ServiceDep
from webui.forms import day_of
from webui.i18n import gettext
from webui.views.answer_groups import answer_groups
from webui.views.contexts import HistoryFilters, HistoryPage
from webui.views.filters import shorten
from webui.views.templating import render

router = APIRouter(include_in_schema=False)

PER_PAGE = 25
_DAY_S = 86_400.0
_LAST_PAGE = 100_000


@router.get("/history")
def history(
    request: Request,
    service: ServiceDep,
    q: str = "",
    system: str = "",
    verdict: str = "",
    since: str = "",
    until: str = "",
    page: str = "1",
) -> Response:
    """Answers that match the filters, newest first; a filter that cannot be used is named, and stays as typed."""
    filters = HistoryFilters(q.replace("\x00", ""), system.replace("\x00", ""), verdict, since, until)
    systems = tuple(sorted({*asked_systems(service.store), *service.systems}))
    number, refused, found = 1, "", SearchPage((), 0)
    try:
        number = page_number(page)
        found = search_history(service.store, search_of(filters), limit=PER_PAGE, offset=(number - 1) * PER_PAGE)
    except InvalidInputError as error:
        refused = str(error)
    shown = HistoryPage(
        groups=answer_groups(found.answers),
        shown=len(found.answers),
        total=found.total,
        first=(number - 1) * PER_PAGE + 1,
        filters=filters,
        systems=systems,
        newer=_address(filters, number - 1) if number > 1 else "",
        older=_address(filters, number + 1) if number * PER_PAGE < found.total else "",
        refused=refused,
    )
    return render(request, shown, status=422 if refused else 200)


def search_of(filters: HistoryFilters) -> Search:
    """What the filters ask for: whole days, the last one included. ``InvalidInputError`` says which cannot be used."""
    judged = next((v for v in get_args(Judged) if v == filters.verdict), None)
    if filters.verdict and judged is None:
        raise InvalidInputError(
            gettext("%(verdict)r is no verdict; there are: %(verdicts)s")
            % {"verdict": shorten(filters.verdict, 40), "verdicts": ", ".join(get_args(Judged))}
        )
    since, until = day_of(filters.since), day_of(filters.until)
    if since is not None and until is not None and until < since:
        raise InvalidInputError(gettext("the last day is before the first one; exchange them"))
    return Search(filters.q, filters.system, judged, since, None if until is None else until + _DAY_S)


def page_number(typed: str) -> int:
    """A page from 1 on; ``InvalidInputError`` for anything else."""
    number = int(typed) if typed.isascii() and typed.isdecimal() and len(typed) < 10 else 0
    if not 1 <= number <= _LAST_PAGE:
        raise InvalidInputError(gettext("there is no page %(page)r; the first one is 1") % {"page": shorten(typed, 20)})
    return number


def _address(filters: HistoryFilters, number: int) -> str:
    fields = {
        "q": filters.q,
        "system": filters.system,
        "verdict": filters.verdict,
        "since": filters.since,
        "until": filters.until,
        "page": str(number) if number > 1 else "",
    }
    query = urlencode({name: value for name, value in fields.items() if value})
    return f"/history?{query}" if query else "/history"
