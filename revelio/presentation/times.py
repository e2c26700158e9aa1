"""The time of an answer in words: its window, its onset, and the times that were found and not applied."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo

from revelio.presentation.facts import Words
from revelio.support.numbers import format_duration, format_sigma, format_value
from revelio.types import Recommendation
from revelio.types.question_time import Onset, ProposedTime


def time_lines(answer: Recommendation, zone: tzinfo | None = UTC) -> tuple[str, ...]:
    """Sentences for people: the window, the onset, and proposals. Times are in ``zone``, that of this machine when None."""
    told = (_told(words, zone) for words in time_words(answer))
    return (*told, *(proposal_line(p, zone) for p in answer.time.proposals))


def time_words(answer: Recommendation) -> tuple[Words, ...]:
    """The window, and the onset where there is one."""
    evidence, onset = answer.incident.evidence, answer.time.onset
    window, baseline = evidence.window, evidence.baseline
    why = {
        "report": f', from the report: "{answer.time.words}"',
        "onset": ", from the onset on",
        "asked": ", as asked",
        "usual": "",
    }[answer.time.basis]
    lengths = f"{format_duration(window.seconds * 1000)} against {format_duration(baseline.seconds * 1000)} before"
    shown: Words = ("Window ", window.start, " to ", window.end, f" ({lengths}){why}")
    return (shown,) if onset is None else (shown, _onset(onset))


def _onset(onset: Onset) -> Words:
    """When the problem began, and by which signal."""
    change = f"{format_value(onset.before, onset.unit)} → {format_value(onset.after, onset.unit)}"
    over: Words = (", over by ", onset.until) if onset.until is not None else ()
    signal = onset.signal.replace("_", " ")
    return ("Onset ", onset.at, f": {signal} of {onset.component} {change} ({format_sigma(onset.sigma)})", *over)


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


def _told(words: Words, zone: tzinfo | None) -> str:
    """The words as one text; the day stands where it is another than that before, the zone once."""
    last = max((i for i, part in enumerate(words) if not isinstance(part, str)), default=-1)
    told, day = [], ""
    for index, part in enumerate(words):
        if isinstance(part, str):
            told.append(part)
            continue
        at = _at(part, zone)
        date = f"{at:%b %d} "
        told.append(f"{date if date != day else ''}{at:%H:%M:%S}{f' {at:%Z}'.rstrip() if index == last else ''}")
        day = date
    return "".join(told)


def _at(moment: float, zone: tzinfo | None) -> datetime:
    found = datetime.fromtimestamp(moment, UTC)
    return found.astimezone(zone)
