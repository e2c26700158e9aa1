"""The progress of a question that a page waits for, and the way out of it."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass

from cachetools import TTLCache
from fastapi import APIRouter, Request
from fastapi.responses import Response

from revelio.errors import InvalidInputError
from revelio.support.progress import Progress
from webui.i18n import gettext
from webui.views.contexts import ProgressPart, ProgressRow
from webui.views.templating import render

router = APIRouter(include_in_schema=False)

_MOST, _KEPT_S = 1000, 600.0
_ID = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class _Waiting:
    progress: Progress
    titles: Mapping[str, str]


class Questions:
    """Questions that pages wait for, by the id that each page chose. Safe to share between threads."""

    def __init__(self) -> None:
        """The oldest are forgotten first."""
        self._waiting: TTLCache[str, _Waiting] = TTLCache(_MOST, _KEPT_S)
        self._lock = threading.Lock()

    def begin(self, question_id: str, titles: Mapping[str, str]) -> Progress:
        """Follow a question; ``titles`` are those of its data sources by name."""
        if not _ID.fullmatch(question_id):
            raise InvalidInputError(gettext("the id of a question is 32 hex digits; leave it out to ask without progress"))
        waiting = _Waiting(Progress(), titles)
        with self._lock:
            self._waiting[question_id] = waiting
        return waiting.progress

    def rows(self, question_id: str) -> tuple[ProgressRow, ...]:
        """What each data source does; empty before the question has come."""
        found = self._found(question_id)
        if found is None:
            return ()
        return tuple(ProgressRow(found.titles.get(s.name, s.name), s.state, s.seconds) for s in found.progress.sources)

    def cancel(self, question_id: str) -> None:
        """Drop a question."""
        found = self._found(question_id)
        if found:
            found.progress.cancel()

    def _found(self, question_id: str) -> _Waiting | None:
        with self._lock:
            return self._waiting.get(question_id)


@router.get("/progress/{question_id}")
async def progress(request: Request, question_id: str) -> Response:
    """What each data source does, as a part of the page that waits."""
    return render(request, ProgressPart(request.app.state.questions.rows(question_id)))


@router.post("/progress/{question_id}/cancel")
async def cancel(request: Request, question_id: str) -> Response:
    """Ask nothing more, and keep no answer."""
    request.app.state.questions.cancel(question_id)
    return Response(status_code=204)
