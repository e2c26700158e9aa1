"""What Prometheus answers to a range query."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pydantic import TypeAdapter, ValidationError

from revelio.errors import SourceError

_MATRIX = TypeAdapter(list[tuple[dict[str, str], list[tuple[float, str]]]])


@dataclass(frozen=True, slots=True)
class PromSeries:
    """One series: its labels and its points, of which those that are no numbers are left out."""

    labels: dict[str, str]
    times: tuple[float, ...]
    values: tuple[float, ...]


def matrix(source: str, answer: object) -> list[PromSeries]:
    """The series of an answer; ``SourceError`` when it is none."""
    try:
        if not isinstance(answer, dict) or answer["status"] != "success" or answer["data"]["resultType"] != "matrix":
            raise SourceError(source, "did not answer with series; is its url right?")
        found = _MATRIX.validate_python([(r["metric"], r["values"]) for r in answer["data"]["result"]])
        return [_points(labels, points) for labels, points in found]
    except (KeyError, TypeError, ValueError, ValidationError) as error:
        raise SourceError(source, f"answered in a form that is not Prometheus': {type(error).__name__}") from error


def vector(source: str, answer: object) -> list[tuple[dict[str, str], float]]:
    """The rows of an instant query; ``SourceError`` when it is none."""
    try:
        if not isinstance(answer, dict) or answer["status"] != "success" or answer["data"]["resultType"] != "vector":
            raise SourceError(source, "did not answer with a vector; is its url right?")
        rows = [({str(k): str(v) for k, v in row["metric"].items()}, float(row["value"][1])) for row in answer["data"]["result"]]
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise SourceError(source, f"answered in a form that is not Prometheus': {type(error).__name__}") from error
    return [row for row in rows if not math.isnan(row[1])]


def _points(labels: dict[str, str], points: list[tuple[float, str]]) -> PromSeries:
    kept = [(t, v) for t, text in points if math.isfinite(t) and math.isfinite(v := float(text))]
    return PromSeries(labels, tuple(t for t, _ in kept), tuple(v for _, v in kept))
