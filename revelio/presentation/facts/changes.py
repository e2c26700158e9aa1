"""Discrete changes as facts: limits, states, restarts, configuration."""

from __future__ import annotations

import re
from collections.abc import Sequence

from revelio.presentation.facts.fact import Fact, quoted
from revelio.presentation.rows import rows_by_role
from revelio.support.numbers import format_value
from revelio.types import Entity, Evidence, Query, Result, StateChange

_TELLING = ("oom", "answers", "limits", "config", "state", "health", "started")
"""Fields of changes, those that explain most first; others come after them."""
_RESTART_S = 60.0
"""A start so long after a stop belongs to it."""
_CPU = re.compile(r"(\d+(?:\.\d+)?) CPU(?:s| cores)")
_QUANTITY = re.compile(r"(\d+(?:\.\d+)?)(.*)")
_MEMORY = re.compile(r"(\d+(?:\.\d+)? [KMGT]?i?B)(?: of)? memory")


def change(query: Query, evidence: Evidence, result: Result | None) -> Fact | None:
    """The most telling change of what the query is about, of the kind that it asks for; None without one."""
    fields = {r.metric for r in query.template.reads if r.source == "changes"} - {""}
    found = [*_of(query, evidence), *(_listed(result) if result else ())]
    wanted = [c for c in found if not fields or c.field in fields] or found
    if not wanted:
        return None
    first = min(wanted, key=lambda c: (_TELLING.index(c.field) if c.field in _TELLING else len(_TELLING), c.at))
    return told(first, found)


def told(one: StateChange, around: Sequence[StateChange]) -> Fact:
    """A change in words; ``around`` are others of the same component."""
    name, at = one.entity.name, one.at
    if one.field == "limits":
        return _limits(one)
    if one.field == "oom":
        return Fact(
            "change", name, (f"{name} was killed because its memory ran out at ", at), at, f"see what {name} keeps in memory"
        )
    if one.field == "answers":
        return Fact("change", name, (f"{name} does not answer",), None, f"find out whether {name} runs and can be reached")
    if one.field in ("state", "started"):
        return _state(one, around)
    if one.field == "health":
        return Fact(
            "change", name, (f"the health check of {name} fails since ", at), at, f"run the health check of {name} by hand"
        )
    change = f"{quoted(one.before)} → {quoted(one.after)}" if one.before else quoted(one.after)
    words = f"{'configuration' if one.field == 'config' else one.field.replace('_', ' ')} of {name} changed: {change} at "
    return Fact("change", name, (words, at), at, f"find out who changed {name}, and undo it if nobody meant it")


def _state(one: StateChange, around: Sequence[StateChange]) -> Fact:
    name, at = one.entity.name, one.at
    same = [c for c in around if c.entity == one.entity]
    stop = next((c for c in same if c.field == "state" and c.before == "running"), None)
    start = next((c for c in same if c.field == "started" and (stop is None or 0 <= c.at - stop.at <= _RESTART_S)), None)
    logs = f"read what {name} logged last before it"
    if start is not None:
        ended = f" after it {stop.after}" if stop else ""
        return Fact("change", name, (f"{name} restarted at ", stop.at if stop else start.at, ended), (stop or start).at, logs)
    if re.fullmatch(r"exited with code .*", one.after):
        code = one.after.removeprefix("exited with ")
        return Fact("change", name, (f"{name} stopped at ", at, f" ({code}) and did not start again"), at, logs)
    if one.after == "paused":
        return Fact(
            "change", name, (f"{name} is paused: it runs nothing since ", at), at, f"let {name} go on, and find out who paused it"
        )
    return Fact("change", name, (f"{name} changed from {one.before or 'its state'} to {quoted(one.after)} at ", at), at, logs)


def _limits(one: StateChange) -> Fact:
    name = one.entity.name
    was, now = _parts(one.before), _parts(one.after)
    changed = [part for part in now if was.get(part) != now[part]]
    if not was or not changed:
        return Fact(
            "change", name, (f"limits of {name} changed to {one.after} at ", one.at), one.at, f"find out who changed {name}"
        )
    words = " and ".join(f"{part} of {name} {_moved(was.get(part, ''), now[part])}" for part in changed)
    step = f"find out who changed it, or set it back to {was.get(changed[0]) or 'what it was'}"
    return Fact("change", name, (f"{words} at ", one.at), one.at, step)


def _moved(was: str, now: str) -> str:
    """``cut from 0.5 to 0.037 cores`` where both have the same unit, which then stands once."""
    before, after = _QUANTITY.fullmatch(was), _QUANTITY.fullmatch(now)
    if before is None or after is None or before[2] != after[2]:
        return f"changed from {was or 'unknown'} to {now}"
    verb = "cut" if float(after[1]) < float(before[1]) else "raised"
    return f"{verb} from {before[1] if after[2].startswith(' ') else was} to {now}"


def _parts(text: str) -> dict[str, str]:
    """Limits by name, in the words of any version: ``0.5 CPU cores, 201 MB memory``, ``CPU limit 500m; memory limit 1Gi``."""
    found = {}
    for part in filter(None, (p.strip() for p in re.split(r"[,;] ", text))):
        cpu, memory = _CPU.fullmatch(part), _MEMORY.fullmatch(part)
        if cpu:
            found["CPU limit"] = f"{format_value(float(cpu[1]))} cores"
        elif memory:
            found["memory limit"] = memory[1]
        elif part.startswith("no "):
            found[part.removeprefix("no ")] = "none"
        else:
            name, _, value = part.rpartition(" ")
            found[name] = value
    return found


def _of(query: Query, evidence: Evidence) -> list[StateChange]:
    names = {e.name.partition(": ")[0] for e in query.entities}
    return [c for c in evidence.changes if c.entity.name in names]


def _listed(result: Result) -> list[StateChange]:
    rows = rows_by_role(result, ("at", "container", "field", "old", "new")) if result.kind == "changes" else []
    return [
        StateChange(
            Entity("container", str(r["container"])),
            float(str(r["at"])),
            str(r["field"]),
            str(r["old"] or ""),
            str(r["new"] or ""),
        )
        for r in rows
        if isinstance(r["at"], int | float)
    ]
