"""The window of a question, and its evidence: as asked, as its report says, or from the onset that the system shows."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import tzinfo

from revelio.catalog.conventions import signals
from revelio.support.onset import USER_FACING, find_onset
from revelio.systems.recorded_system import RecordedSystem
from revelio.systems.system import System
from revelio.systems.time_mentions import TimeMention, time_mentions
from revelio.systems.time_range import TimeRange
from revelio.types import Evidence, Series, Window
from revelio.types.question_time import Onset, ProposedTime, QuestionTime, TimeBasis

LOOK_BACK_S = 12 * 3600.0
"""How far back an onset is looked for where the usual window shows none, in seconds."""

WELL_WITHIN, BEFORE_ONSET = 0.3, 0.1
"""Shares of the usual window: how long after its start an onset has to be to narrow it, and how long before it that begins."""

REFINED = 12
"""Steps of the long look on both sides of an onset that is looked at again more closely."""


@dataclass(frozen=True, slots=True)
class NamedTime:
    """The time of a question, as it and its report name it. ``mentions`` are the times of the report that were not applied.

    ``basis`` is what named the time, ``words`` are those of the report that did.
    """

    now: float
    range: TimeRange = field(default_factory=TimeRange)
    basis: TimeBasis = "usual"
    words: str = ""
    mentions: tuple[TimeMention, ...] = ()

    @classmethod
    def of(cls, report: str, asked: TimeRange, zone: tzinfo | None, now: float) -> NamedTime:
        """A time that the question names is taken as it is. Else a time in the report is, if it can mean one thing only."""
        noticed = now if asked.at is None else asked.at
        mentions = time_mentions(report, noticed, zone, zone_known=zone is not None)
        sure = next((m for m in mentions if not m.unsure), None)
        if asked.named or asked.at is not None or sure is None:
            return cls(now, asked, "usual" if asked == TimeRange() else "asked", "", mentions)
        return cls(now, sure.time, "report", sure.words, tuple(m for m in mentions if m.words != sure.words))


@dataclass(frozen=True, slots=True)
class WindowChoice:
    """The window to look at, as of ``now``, and what it goes by. ``seen`` is its evidence, where the choice needed that already.

    ``otherwise`` is the choice that holds where sources are silent that answered for it.
    """

    range: TimeRange
    now: float
    time: QuestionTime
    seen: Evidence | None = None
    otherwise: WindowChoice | None = None


@dataclass(frozen=True, slots=True)
class WindowEvidence:
    """The evidence of a question, and what its window goes by."""

    evidence: Evidence
    time: QuestionTime


def choose_window(asked: NamedTime, system: System | RecordedSystem) -> WindowChoice:
    """The window of a question: as asked, as its report says, or from the onset that the system shows.

    Without a named time the window is the usual one, and begins at the onset of a problem that users feel and that lasts:
    before the usual window, or well within it, where what came earlier would be mixed with it. A recorded incident has one
    window.
    """
    evidence = system.snapshot_at(asked.range, asked.now)
    if isinstance(system, RecordedSystem):
        return WindowChoice(asked.range, asked.now, QuestionTime(), evidence)
    window, found = evidence.window, _onset(evidence)
    if not asked.range.named and (found is None or found.until is not None):
        found = _earlier_onset(system, Window(window.end - LOOK_BACK_S, window.end)) or found
    usual = WindowChoice(asked.range, asked.now, _time(asked, asked.basis, found), evidence)
    if asked.range.named or found is None or found.until is not None:
        return usual
    late = found.at - window.start
    if 0.0 <= late < WELL_WITHIN * window.seconds:
        return usual
    since = found.at if late < 0.0 else found.at - BEFORE_ONSET * window.seconds
    return WindowChoice(TimeRange(since=since, at=window.end), asked.now, _time(asked, "onset", found), otherwise=usual)


def collect_evidence(window: WindowChoice, system: System | RecordedSystem) -> WindowEvidence:
    """A snapshot of the chosen window. A source that does not answer is named in its ``missing``."""
    evidence = system.snapshot_at(window.range, window.now) if window.seen is None else window.seen
    before = window.otherwise
    if before is not None and before.seen is not None and len(evidence.missing) > len(before.seen.missing):
        return WindowEvidence(before.seen, before.time)
    return WindowEvidence(evidence, window.time)


def _time(asked: NamedTime, basis: TimeBasis, onset: Onset | None) -> QuestionTime:
    proposals = [_proposed(m) for m in asked.mentions]
    if onset is not None and onset.until is not None:
        over = ProposedTime(f"{onset.signal} of {onset.component}", "it is over", since=onset.at, at=onset.until)
        proposals.append(over)
    return QuestionTime(basis, asked.words, onset, tuple(proposals))


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
