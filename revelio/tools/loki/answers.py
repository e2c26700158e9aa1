"""What Loki answers: streams of lines, and series of counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isfinite

from revelio.errors import SourceError
from revelio.tools.log_fields import read_line
from revelio.tools.log_patterns import LogRecord
from revelio.tools.loki.labels import Labels


def lines_in(source: str, answer: object, labels: Labels) -> tuple[LogRecord, ...]:
    """The lines of all streams, the newest first; ``SourceError`` where the answer is not Loki's."""
    found = []
    for stream, values in _results(source, answer, "streams", "stream", "values"):
        for value in values:
            if not isinstance(value, list) or len(value) < 2:
                raise _foreign(source)
            beside = value[2] if len(value) > 2 and isinstance(value[2], dict) else {}
            text = str(value[1])
            found.append(read_line(text, _seconds(source, value[0]), {**stream, **beside}, labels.source(stream)))
    return tuple(sorted(found, key=lambda line: -line.at))


def labels_on_lines(source: str, answer: object) -> frozenset[str]:
    """The names of the labels that lines carry, those of single lines included."""
    return frozenset(name for stream, _ in _results(source, answer, "streams", "stream", "values") for name in stream)


def texts_in(source: str, answer: object) -> list[str]:
    """The text of each line."""
    return [str(v[1]) for _, values in _results(source, answer, "streams", "stream", "values") for v in values if len(v) > 1]  # type: ignore[arg-type,index]


def counts_in(source: str, answer: object) -> list[tuple[Mapping[str, str], float]]:
    """The figure of each group at one moment."""
    return [
        (labels, _number(source, value[1]))
        for labels, value in _results(source, answer, "vector", "metric", "value")
        if len(value) == 2
    ]


def points_in(source: str, answer: object) -> list[tuple[Mapping[str, str], dict[float, float]]]:
    """The figures of each group over time."""
    found: list[tuple[Mapping[str, str], dict[float, float]]] = []
    for labels, values in _results(source, answer, "matrix", "metric", "values"):
        points = {_number(source, point[0]): _number(source, point[1]) for point in values if isinstance(point, list)}
        found.append((labels, points))
    return found


def names_in(source: str, answer: object) -> list[str]:
    """The names of labels, or the values of one."""
    said = answer if isinstance(answer, dict) else {}
    data = said.get("data") or []  # left out where there are none
    if said.get("status") != "success" or not isinstance(data, list):
        raise _foreign(source)
    return [str(name) for name in data]


def _results(source: str, answer: object, kind: str, labels: str, values: str) -> Iterator[tuple[dict[str, str], list[object]]]:
    data = answer.get("data") if isinstance(answer, dict) else None
    results = data.get("result") if isinstance(data, dict) and data.get("resultType") == kind else None
    if not isinstance(results, list):
        raise _foreign(source)
    for one in results:
        held = one.get(labels) if isinstance(one, dict) else None
        listed = one.get(values) if isinstance(one, dict) else None
        if not isinstance(held, dict) or not isinstance(listed, list):
            raise _foreign(source)
        yield {str(k): str(v) for k, v in held.items()}, listed


def _seconds(source: str, nanoseconds: object) -> float:
    return _number(source, nanoseconds) / 1e9


def _number(source: str, told: object) -> float:
    try:
        number = float(str(told))
    except ValueError as error:
        raise _foreign(source) from error
    if not isfinite(number):
        raise _foreign(source)
    return number


def _foreign(source: str) -> SourceError:
    return SourceError(source, "answered in a form that is not Loki's; is its url right?")
