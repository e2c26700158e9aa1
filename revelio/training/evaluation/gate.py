"""Figures that fell since an evaluation that was kept: what a change of model, features or catalog costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

TOLERANCE = 0.02
"""How far a figure may fall, as a share in [0, 1]; of few incidents by one of them: processors round int8 differently."""

_FAULTS, _CONTROLS = ("top1", "top3", "accepted_top1"), ("auroc", "abstained")
_LISTENING = ("top1", "top3", "worth", "follows")


@dataclass(frozen=True, slots=True)
class Fall:
    """A figure that is lower than before; ``now`` is None where it was not measured."""

    figure: str
    before: float
    now: float | None


def falls(kept: Mapping[str, Any], found: Mapping[str, Any], tolerance: float = TOLERANCE) -> tuple[Fall, ...]:
    """The figures of ``kept`` that are lower by more than ``tolerance`` in ``found``, or missing there.

    Both are in the shape of ``revelio eval --json`` or ``revelio eval --listening --json``. Raises ``ValueError`` where ``kept``
    has no figures of the kind that ``found`` has.
    """
    before, now = dict(_figures(kept)), dict(_figures(found))
    if not before.keys() & now.keys():
        raise ValueError("has none of the figures that were measured")
    lower = []
    for name, (value, incidents) in before.items():
        current = now[name][0] if name in now else None
        if current is None or current < value - max(tolerance, 1.0 / max(1, incidents)) - 1e-9:
            lower.append(Fall(name, value, current))
    return tuple(lower)


def _figures(evaluation: Mapping[str, Any]) -> Iterator[tuple[str, tuple[float, int]]]:
    """Each figure with the number of its incidents."""
    try:
        for split, figures in evaluation.get("splits", {}).items():
            yield from _named(split, figures, _FAULTS if "top1" in figures else _CONTROLS)
        for row in evaluation.get("listening", ()):
            yield from _named(row["name"], row, _LISTENING)
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError("is not in the form that revelio eval --json writes") from error


def _named(part: str, figures: Mapping[str, Any], names: Sequence[str]) -> Iterator[tuple[str, tuple[float, int]]]:
    for name in names:
        if isinstance(value := figures.get(name), int | float):
            yield f"{part} {name}", (float(value), int(figures["incidents"]))
