"""Lines of a shop as its services log them, each in another schema, and how they are sent to a Loki."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

import httpx

Labels = dict[str, str]


@dataclass
class Stream:
    """Lines of one set of labels: (seconds, text, structured metadata)."""

    labels: Labels
    lines: list[tuple[float, str, Labels]] = field(default_factory=list)


def shop(start: float, middle: float, end: float) -> Iterator[Stream]:
    """Healthy until ``middle``; then orders cannot reach the database, payments raises, and gateway fails for every fifth.

    Of gateway there are more lines than are read, and Loki does not detect their level.
    """
    yield Stream({"namespace": "shop", "app": "cart"}, list(_ecs(start, end)))
    yield Stream({"namespace": "shop", "app": "orders"}, list(_logfmt(start, middle, end)))
    yield Stream({"namespace": "shop", "app": "payments"}, list(_plain(start, middle, end)))
    yield Stream({"namespace": "shop", "app": "gateway"}, list(_klog(start, middle, end)))
    yield Stream({"namespace": "forum", "app": "posts"}, [(t, "level=error msg=other", {}) for t in _every(start, end, 3.0)])


def send(url: str, streams: Iterator[Stream]) -> None:
    """Push them, as an agent does."""
    told = [
        {
            "stream": stream.labels,
            "values": [[str(round(at * 1e9)), text, *([beside] if beside else [])] for at, text, beside in stream.lines],
        }
        for stream in streams
    ]
    httpx.post(f"{url}/loki/api/v1/push", json={"streams": told}, timeout=10.0).raise_for_status()


def _every(start: float, end: float, step: float) -> Iterator[float]:
    at = start + 0.5
    while at < end:
        yield at
        at += step


def _ecs(start: float, end: float) -> Iterator[tuple[float, str, Labels]]:
    for n, at in enumerate(_every(start, end, 2.0)):
        told = {
            "log.level": "info",
            "message": f"added item {n} to cart",
            "service": {"name": "cart"},
            "trace": {"id": f"{n:032x}"},
        }
        yield at, json.dumps(told), {}


def _logfmt(start: float, middle: float, end: float) -> Iterator[tuple[float, str, Labels]]:
    for n, at in enumerate(_every(start, end, 2.0)):
        trace = {"trace_id": f"{n:032x}"}
        if at >= middle:
            yield (
                at,
                f'level=error msg="dial tcp 10.0.0.{n % 250}:5432: connect: connection refused" peer=postgres caller=db.go:41',
                trace,
            )
        else:
            yield at, f'level=info msg="order {n} stored" caller=orders.go:12', trace


def _klog(start: float, middle: float, end: float) -> Iterator[tuple[float, str, Labels]]:
    for n, at in enumerate(_every(start, end, 0.1)):
        failed = at >= middle and n % 5 == 0
        said = f"Unable to reach the node of client {n}" if failed else f"handled a request of client {n}"
        yield at, f"{'E' if failed else 'I'}1125 01:00:00.{n:06d}       7 server.go:{n % 90 + 10}] {said}", {}


def _plain(start: float, middle: float, end: float) -> Iterator[tuple[float, str, Labels]]:
    for n, at in enumerate(_every(start, end, 3.0)):
        if at >= middle:
            yield (
                at,
                f'ERROR charge {n} failed\nTraceback (most recent call last):\n  File "/app/charge.py", line 88, in charge\n'
                f"    bank.call()\nbank.TimeoutError: no answer after {n} ms",
                {},
            )
        else:
            yield at, f"INFO charged {n} EUR", {}
