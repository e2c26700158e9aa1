"""What can be seen of a live system: which sources answer, which signals they hold, and which questions can be asked."""

from __future__ import annotations

import contextvars
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from revelio.catalog.candidates import candidates, inventory, not_asked
from revelio.catalog.conventions import Profile, signals
from revelio.catalog.unreachable import asks_presence
from revelio.errors import SourceError
from revelio.support.deadline import end, until
from revelio.systems.sources import Source
from revelio.systems.system import System, ToolState
from revelio.tools.base import Noted
from revelio.tools.discovery.prometheus import NOTHING
from revelio.tools.prometheus.tool import Prometheus
from revelio.tools.seen_at import identify_other_product
from revelio.types import Evidence

_TIDY_S = 2.0
"""How long a look may go on when its sources have no more time: all that it waits for is over by then."""

SHOWN = 4
"""Reasons of signals that are not seen that a person is shown."""


@dataclass(frozen=True, slots=True)
class SourceCoverage:
    """One source: ``state`` is "good" where it can answer questions, "absent" where it answers nothing of use or not at all.

    It is "broken" where its settings can never work.
    """

    state: str
    detail: str
    usable: int
    of: int


@dataclass(frozen=True, slots=True)
class Signals:
    """How many signals there are data of, and why the others are not seen."""

    found: int
    of: int
    not_seen: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Templates:
    """How many templates can be asked; ``why_not`` counts the others by the reason."""

    usable: int
    of: int
    why_not: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Coverage:
    """What can be seen of one system. ``notes`` are sentences on what could be read in part only.

    ``to_connect`` are sentences on sources that the system has none of, and how many questions each would open.
    """

    sources: Mapping[str, SourceCoverage]
    signals: Signals
    templates: Templates
    notes: tuple[str, ...]
    to_connect: tuple[str, ...] = ()


def coverage(system: System, now: float | None = None) -> Coverage:
    """Look at a system once, as a question would. Never raises ``SourceError``: a source that fails is part of the answer."""
    states = {state.tool: state for state in system.ping()}
    profile, broken = _profiles(system)
    evidence = system.snapshot(time.time() if now is None else now)
    usable = Counter(
        t.tool for t in {q.template.id: q.template for q in candidates(system.catalog, inventory(evidence))}.values()
    )
    sources = {}
    for source in system.sources.all:
        state = states[source.name]
        tool = next((t for t in system.catalog.tools if t.name == source.product.tool), None)
        if tool is None:
            sources[source.name] = SourceCoverage("broken", states[source.name].detail, 0, 0)
            continue
        answers = state.up and source.name not in evidence.missing
        detail = state.detail if answers else _why(system, source, state, broken.get(source.name, ""))
        if answers and not usable[tool.name]:
            detail += "; it holds nothing that any question reads"
        good = answers and usable[tool.name] > 0
        every = len(tool.asked([source.product.name]))
        sources[source.name] = SourceCoverage("good" if good else "absent", detail, usable[tool.name], every)
    return Coverage(
        sources, _signals(profile, evidence), _templates(system, evidence, usable), _notes(system), _to_connect(system)
    )


def coverage_of_all(systems: Mapping[str, System], seconds: float) -> dict[str, Coverage | None]:
    """Look at all systems at once, for so many seconds; None for those whose look was not over by then.

    A source that did not answer in time is named in the coverage of its system.
    """
    last = end(seconds)
    with until(last - _TIDY_S):
        looks = {name: _in_thread(lambda s=system: coverage(s)) for name, system in systems.items()}  # type: ignore[misc]
    return {name: _in_time(look, last) for name, look in looks.items()}


def _in_thread(look: Callable[[], Coverage]) -> Future[Coverage]:
    """In a daemon thread: a look that hangs does not keep the process from exiting."""
    future: Future[Coverage] = Future()
    context = contextvars.copy_context()

    def run() -> None:
        try:
            future.set_result(context.run(look))
        except BaseException as error:  # the caller that waits gets it
            future.set_exception(error)

    threading.Thread(target=run, name="coverage", daemon=True).start()
    return future


def _in_time(look: Future[Coverage], last: float) -> Coverage | None:
    try:
        return look.result(max(0.0, last - time.monotonic()))
    except TimeoutError:
        return None


def _why(system: System, source: Source, state: ToolState, broken: str) -> str:
    """Why a source is of no use, and what answers in its place where that is another product."""
    if state.up:
        return broken or f"{state.detail}, but gives no snapshot within the limit"
    url = system.settings.backends[source.name].url
    there = identify_other_product(system.catalog, source.product.name, url)
    return f"{url} is no {source.product.title}: {there}" if there else state.detail


def _notes(system: System) -> tuple[str, ...]:
    """What sources know of themselves, by name where there are several."""
    told = {s.title: s.tool.notes(system.project) for s in system.sources.all if isinstance(s.tool, Noted)}
    return tuple(f"{title}: {note}" for title, notes in told.items() for note in notes)


def _to_connect(system: System) -> tuple[str, ...]:
    told = []
    for tool in system.catalog.tools:
        titles = [p.title for p in system.catalog.products if p.tool == tool.name]
        questions = sum(not asks_presence(t) for t in tool.templates)
        if questions and not system.sources.of(tool.name):
            told.append(f"{' or '.join([', '.join(titles[:-1]), titles[-1]] if titles[1:] else titles)}: {questions} questions")
    return tuple(told)


def _profiles(system: System) -> tuple[Profile | None, dict[str, str]]:
    """The profile of the first Prometheus that gives one, and by name why others give none."""
    found, broken = list[Profile](), {}
    for source in system.sources.all:
        if isinstance(source.tool, Prometheus):
            try:
                found.append(source.tool.discover(system.project, refresh=True))
            except SourceError as error:
                broken[source.name] = error.reason
    return next(iter(found), None), broken


def _signals(profile: Profile | None, evidence: Evidence) -> Signals:
    found = {s.metric for s in evidence.series} & signals().keys()
    lacking = dict(profile.missing) if profile else {}
    silent = "no Prometheus answers"
    if profile:
        silent = "its series hold no data in this time"
    return Signals(len(found), len(signals()), {name: lacking.get(name, silent) for name in signals() if name not in found})


def _templates(system: System, evidence: Evidence, usable: Counter[str]) -> Templates:
    why = {}
    for sentence in not_asked(system.catalog, evidence):
        reason, _, rest = sentence.partition(": ")
        why[reason] = int(rest.split()[0])
    return Templates(usable.total(), len(system.catalog.templates), why)


def reasons(found: Signals) -> list[str]:
    """Why signals are not seen, as sentences: of kinds of entities that are there each reason, those with advice first.

    What nothing measures, and nothing can be said to do about, is one sentence on the kinds of entities.
    """
    here = {signal.entity for name, signal in signals().items() if name not in found.not_seen}
    by_reason: dict[str, list[str]] = {}
    for name, reason in found.not_seen.items():
        if signals()[name].entity in here and reason != NOTHING:
            by_reason.setdefault(reason.removeprefix(f"{NOTHING}; "), []).append(name)
    ordered = sorted(by_reason.items(), key=lambda pair: -len(pair[1]))[:SHOWN]
    told = [f"{_listed(names, 4)}: {reason}" for reason, names in ordered]
    kinds = (signals()[name].entity.replace("_", " ") for name in found.not_seen if signals()[name].entity not in here)
    absent = list(dict.fromkeys(kinds))
    return [*told, f"nothing measures any {_listed(absent, 8)}; `revelio docs conventions` says what does"] if absent else told


def _listed(names: Sequence[str], most: int) -> str:
    return ", ".join(name.replace("_", " ") for name in names[:most]) + (" ..." if len(names) > most else "")
