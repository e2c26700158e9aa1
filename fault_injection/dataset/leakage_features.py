"""What is seen of each part of an application in one recorded run, as features with names that hold for any part.

A feature is a figure's distance from its own past, a change, a new kind of log line, or a name that other runs do not have. The
noise floor is not applied: a classifier that looks for what an injector leaves looks closely.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from revelio.encoders.evidence import index_evidence
from revelio.systems.incidents.exchange import Record
from revelio.types import Evidence

DATABASE = "postgres"
"""The part that tables, and clients that are no part, belong to."""
RARE = 1 / 3
"""A name that is there in fewer of its application's runs is a mark."""
_NUMBER = re.compile(r"\d+")
_ONCE = re.compile(r"<[^>]*>|\S*\d\S*")

Features = dict[str, float]


@dataclass(frozen=True, slots=True)
class RunFeatures:
    """One run: what was done, the parts it was done at, and the features of every part. Absent features are 0."""

    id: str
    system: str
    kind: str
    category: str
    affected: frozenset[str]
    parts: dict[str, Features]
    run: str = ""
    """Runs of the same name share their evidence."""
    noisy: frozenset[str] = frozenset()
    """Parts that the noise around it was about."""


def run_features(records: Iterable[Record]) -> tuple[RunFeatures, ...]:
    """The features of each labelled run; a name is rare with regard to the other runs of its application.

    Of two faults in one run each is looked at without the parts that the other one was done at, and those of the noise.
    """
    seen: list[tuple[RunFeatures, dict[str, set[str]]]] = []
    names: dict[str, Counter[str]] = defaultdict(Counter)
    for record in records:
        if record.fault is None:
            continue
        parts = sorted(e.name for e in record.evidence.entities if e.kind == "container")
        told = _names(record.evidence, parts)
        names[record.system].update(set().union(*told.values()) if told else ())
        where = affected(record.fault.place, parts)
        features = _features(record.evidence, parts)
        kind, category, run_id = record.fault.kind, record.fault.category, record.run or record.id
        noisy = frozenset[str]().union(*(affected(noise.place, parts) for noise in record.noise))
        seen.append((RunFeatures(record.id, record.system, kind, category, where, features, run_id, noisy), told))
    done_at: dict[str, set[str]] = defaultdict(set)
    for run, _ in seen:
        done_at[run.run].update(run.affected | run.noisy)
    for run, _ in seen:
        for part in done_at[run.run] - run.affected:
            run.parts.pop(part, None)
    runs = Counter(run.system for run, _ in seen)
    for run, told in seen:
        for part, its in told.items():
            for name in its if part in run.parts else ():
                if names[run.system][name] < RARE * runs[run.system]:
                    run.parts[part][name] = 1.0
    return tuple(run for run, _ in seen)


def affected(place: str, parts: Iterable[str]) -> frozenset[str]:
    """The parts that a fault's place is about: itself, both ends of an edge, the database of a table; none of nowhere."""
    parts = frozenset(parts)
    found = parts & set(place.split("->"))
    return found or (parts & {DATABASE} if place.isidentifier() else frozenset())


def _features(evidence: Evidence, parts: list[str]) -> dict[str, Features]:
    found: dict[str, Features] = {part: {} for part in parts}
    seen = index_evidence(evidence)
    for (name, source, metric), row in seen.row.items():
        if source == "changes" or (source, metric) in (("logs", ""), ("logs", "new")):
            continue  # told below in words
        for part, role in _owners(name, parts):
            for way, far in (("up", float(seen.up[row])), ("down", float(seen.down[row]))):
                if far > 1.0 and (way == "up" or source == "series"):
                    _raise(found[part], f"{source} {metric} {way}{role}", math.log1p(far))
    for change in evidence.changes:
        for part, role in _owners(change.entity.name, parts):
            feature = f"change {change.field}: {_general(change.before, parts)} -> {_general(change.after, parts)}{role}"
            found[part][feature] = found[part].get(feature, 0.0) + 1.0
    for pattern in evidence.logs:
        if not pattern.baseline_count and pattern.count:
            for part, role in _owners(pattern.entity.name, parts):
                _raise(found[part], f"line {pattern.level}: {_general(pattern.pattern, parts)[:90]}{role}", float(pattern.count))
    for part in parts:
        found[part].update((f"silent source: {name}", 1.0) for name in evidence.missing)
    return found


def _names(evidence: Evidence, parts: list[str]) -> dict[str, set[str]]:
    """The names of what belongs to each part; of what belongs to none, at all of them."""
    found: dict[str, set[str]] = {part: set() for part in parts}
    for entity in evidence.entities:
        own = [part for part, _ in _owners(entity.name, parts)]
        for part in own if own and (own != [DATABASE] or DATABASE in entity.name) else parts:
            found[part].add(f"name {entity.kind} {_NUMBER.sub('#', entity.name)}")
    return found


def _owners(name: str, parts: list[str]) -> list[tuple[str, str]]:
    """The parts that something belongs to, and what they are in it where it is a call."""
    caller, arrow, callee = name.partition("->")
    if arrow:
        return [(end, role) for end, role in ((caller, ", calling"), (callee, ", called")) if end in parts]
    own = name.split(": ", 1)[0]
    return [(own if own in parts else DATABASE, "")] if own in parts or DATABASE in parts else []


def _general(text: str, parts: list[str]) -> str:
    """Without numbers and values, but for exit codes, and with no part's name in it."""
    words = " ".join((text if text.startswith("exited ") else _ONCE.sub("#", text)).split())
    return re.sub(rf"\b({'|'.join(map(re.escape, parts))})\b", "PART", words) if parts else words


def _raise(features: Features, name: str, value: float) -> None:
    features[name] = max(features.get(name, 0.0), value)
