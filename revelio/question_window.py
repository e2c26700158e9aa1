"""Chooses the window of a question: as it asks, as its report says, or from the onset that the system shows."""

from __future__ import annotations

from dataclasses import dataclass

from revelio.conventions import signals
from revelio.onset import USER_FACING, find_onset
from revelio.question_time import Onset, ProposedTime, QuestionTime, TimeBasis
from revelio.recommend_request import RecommendRequest
from revelio.systems import System
from revelio.time_mentions import TimeMention, time_mentions
from revelio.time_range import TimeRange
from revelio.types import Evidence, Series, Window

LOOK_BACK_S = 12 * 3600.0
"""How far back an onset is looked for where the usual window shows none, in seconds."""

WELL_WITHIN, BEFORE_ONSET = 0.3, 0.1
"""Shares of the usual window: how long after its start an onset has to be to narrow it, and how long before it that begins."""

REFINED = 12
"""Steps of the long look on both sides of an onset that is looked at again more closely."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The evidence of a question, when the problem was noticed (Unix seconds), and what the window goes by."""

    evidence: Evidence
    opened_at: float
    time: QuestionTime


def look(system: System, request: RecommendRequest, now: float) -> Seen:
    """Snapshot the system in the window of a question.

    A time that the question names is taken as it is. Else a time in the report is, if it can mean one thing only. Else the
    window is the usual one, and begins at the onset of a problem that users feel and that lasts: before the usual window, or
    well within it, where what came earlier would be mixed with it.
    """
    asked = request.time
    mentions = time_mentions(
        request.report, now if asked.at is None else asked.at, request.zone, zone_known=request.zone is not None
    )
    sure = next((m for m in mentions if not m.unsure), None)
    if asked.named or (asked.at is None and sure is not None):
        scope = system.scope_at(asked if asked.named or sure is None else sure.time, now)
        evidence = system.snapshot(scope)
        basis: TimeBasis = "asked" if asked.named else "report"
        words = "" if asked.named or sure is None else sure.words
        return _seen(evidence, scope.window.end, basis, words, _onset(evidence), mentions)
    basis = "usual" if asked.at is None else "asked"
    scope = system.scope_at(asked, now)
    evidence = system.snapshot(scope)
    end = scope.window.end
    found = _onset(evidence)
    if found is None or found.until is not None:
        found = _earlier_onset(system, Window(end - LOOK_BACK_S, end)) or found
    if found is None or found.until is not None:
        return _seen(evidence, end, basis, "", found, mentions)
    late = found.at - scope.window.start
    if 0.0 <= late < WELL_WITHIN * scope.window.seconds:
        return _seen(evidence, end, basis, "", found, mentions)
    since = found.at if late < 0.0 else found.at - BEFORE_ONSET * scope.window.seconds
    fitting = system.snapshot(system.scope_at(TimeRange(since=since, at=end), now))
    if len(fitting.missing) > len(evidence.missing):
        return _seen(evidence, end, basis, "", found, mentions)
    return _seen(fitting, end, "onset", "", found, mentions)


def _seen(
    evidence: Evidence, end: float, basis: TimeBasis, words: str, onset: Onset | None, mentions: tuple[TimeMention, ...]
) -> Seen:
    proposals = [_proposed(m) for m in mentions if m.words != words]
    if onset is not None and onset.until is not None:
        over = ProposedTime(f"{onset.signal} of {onset.component}", "it is over", since=onset.at, at=onset.until)
        proposals.append(over)
    return Seen(evidence, end, QuestionTime(basis, words, onset, tuple(proposals)))


def _proposed(mention: TimeMention) -> ProposedTime:
    time = mention.time
    return ProposedTime(mention.words, mention.unsure or "the question names another time", time.since, time.at, time.window_s)


def _onset(evidence: Evidence) -> Onset | None:
    return _of(evidence.series, evidence.window.end)


def _earlier_onset(system: System, span: Window) -> Onset | None:
    """The onset within a longer span, at the step of the system once it is known roughly."""
    series = system.user_facing(span)
    rough = _of(series, span.end)
    if rough is None or rough.until is not None:
        return rough
    step = max((s.times[1] - s.times[0] for s in series if len(s.times) > 1), default=0.0)
    near = Window(rough.at - REFINED * step, min(span.end, rough.at + REFINED * step))
    close = _of(system.user_facing(near), near.end)
    return (
        rough
        if close is None or close.until is not None
        else Onset(close.at, rough.component, rough.signal, rough.unit, rough.before, rough.after, rough.sigma)
    )


def _of(series: tuple[Series, ...], end: float) -> Onset | None:
    return find_onset(series, end, frozenset(m for m in USER_FACING if m in signals() and signals()[m].absent_is_zero))
