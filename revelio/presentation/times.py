"""The time of an answer in words: its window, its onset, and the times that were found and not applied."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo

from revelio.numbers import format_duration, format_sigma, format_value
from revelio.question_time import Onset, ProposedTime
from revelio.types import Recommendation

_SECONDS_BELOW_S = 600.0
"""Spans shorter than this are told to the second."""


def time_lines(answer: Recommendation, zone: tzinfo | None = UTC) -> tuple[str, ...]:
    """Sentences for people: the window, the onset, and proposals. Times are in ``zone``, that of this machine when None."""
    evidence = answer.incident.evidence
    window, baseline = evidence.window, evidence.baseline
    why = {
        "report": f', from the report: "{answer.time.words}"',
        "onset": ", from the onset on",
        "asked": ", as asked",
        "usual": "",
    }[answer.time.basis]
    lengths = f"{format_duration(window.seconds * 1000)} against {format_duration(baseline.seconds * 1000)} before"
    lines = [f"Window {_span(window.start, window.end, zone)} ({lengths}){why}"]
    if answer.time.onset is not None:
        lines.append(onset_line(answer.time.onset, zone))
    return (*lines, *(proposal_line(p, zone) for p in answer.time.proposals))


def onset_line(onset: Onset, zone: tzinfo | None = UTC) -> str:
    """When the problem began, and by which signal."""
    change = f"{format_value(onset.before, onset.unit)} → {format_value(onset.after, onset.unit)}"
    over = f", over by {_moment(onset.until, zone)}" if onset.until is not None else ""
    signal = onset.signal.replace("_", " ")
    return f"Onset {_moment(onset.at, zone)}: {signal} of {onset.component} {change} ({format_sigma(onset.sigma)}){over}"


def proposal_line(proposal: ProposedTime, zone: tzinfo | None = UTC) -> str:
    """A time that was not applied, why, and how to ask about it."""
    return f'Not applied: "{proposal.words}" ({proposal.unsure}); to ask about it: {" ".join(proposal_options(proposal, zone))}'


def proposal_options(proposal: ProposedTime, zone: tzinfo | None = UTC) -> tuple[str, ...]:
    """The options that ask about a proposed time."""
    told = [f"--since {_iso(proposal.since, zone)}" if proposal.since is not None else ""]
    told.append(f"--at {_iso(proposal.at, zone)}" if proposal.at is not None else "")
    told.append(f"--window {proposal.window_s:.0f}" if proposal.window_s is not None else "")
    return tuple(word for word in told if word)


def _iso(moment: float, zone: tzinfo | None) -> str:
    return _at(moment, zone).isoformat(timespec="minutes")


def _span(start: float, end: float, zone: tzinfo | None) -> str:
    first, last = _at(start, zone), _at(end, zone)
    day = "" if first.date() == last.date() else f"{last:%b %d} "
    clock = "%H:%M" if end - start >= _SECONDS_BELOW_S else "%H:%M:%S"
    return f"{first:%b %d} {first:{clock}} to {day}{last:{clock}} {last:%Z}".strip()


def _moment(moment: float, zone: tzinfo | None) -> str:
    at = _at(moment, zone)
    return f"{at:%b %d %H:%M:%S %Z}".strip()


def _at(moment: float, zone: tzinfo | None) -> datetime:
    found = datetime.fromtimestamp(moment, UTC)
    return found.astimezone(zone)
