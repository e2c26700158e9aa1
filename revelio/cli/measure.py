"""Measures the figures of ``revelio bench``. Compared operations alternate, so that both see the same load."""

from __future__ import annotations

import json
import os
import pickle
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

from revelio.errors import NotFoundError, RevelioError
from revelio.service import Service
from revelio.service.pipeline import answer_incident
from revelio.service.request import RecommendRequest
from revelio.support.numbers import format_count
from revelio.systems.system import System
from revelio.types import Entity, Evidence, Incident

CANDIDATES = 1000
STARTS = 3
SERVER_READY_S = 60.0

MOST_ENCODER_TIMES = 1.5
MOST_FIRST_ANSWER_S = 2.0
MOST_RESIDENT_MB = 400.0
MOST_SERVED_TIMES = 1.3
MOST_SNAPSHOT_S = 2.0
SNAPSHOTS = 9


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured figure; it holds if it is at most its limit. ``detail`` says how it was measured."""

    name: str
    value: float
    unit: str
    limit: float
    holds: bool
    detail: str


def measure(
    service: Service, rounds: int, progress: Callable[[str, int, int], None], system: str | None = None
) -> tuple[Figure, ...]:
    """All figures; with ``system`` also the time of its snapshot.

    ``NotFoundError`` when there is no recorded incident to measure with, or no such system.
    """
    ids = service.incidents.ids()
    if not ids:
        raise NotFoundError(
            f"no recorded incident in {service.incidents.folder} to measure with; `revelio incidents import` adds some"
        )
    incident = service.incidents.get(ids[0]).incident()
    reports = [text for item in service.recorded() for text in item.reports] or ["it is slow"]
    environment = _environment(service)
    done: list[Figure] = []
    steps: tuple[tuple[str, Callable[[], Figure]], ...] = (
        ("a recommendation beside its report encoder", lambda: _against_encoder(service, incident, reports, rounds)),
        ("the first answer of a new process", lambda: _first_answer(ids[0], environment)),
        ("resident memory", lambda: _resident(ids[0], environment)),
        ("an answer over HTTP", lambda: _served(service, ids[0], reports, rounds, environment)),
    )
    if system is not None:
        live = service.system(system)
        steps = (*steps, ("a snapshot of the live system", lambda: snapshot_figure(live)))
    for words, step in steps:
        progress(f"measure {words}", 0, 1)
        done.append(step())
        progress(f"measure {words}", 1, 1)
    return tuple(done)


def enlarged(service: Service, incident: Incident, wanted: int = CANDIDATES) -> Incident:
    """The incident scaled to at least ``wanted`` candidates: its entities repeated under other names."""
    copies, grown = 1, incident
    while len(service.recommender.candidates(grown)) < wanted:
        copies += 1
        if copies > wanted:
            raise RevelioError(f"{incident.id} has no candidates to repeat; measure with another incident")
        grown = replace(incident, evidence=_repeated(incident.evidence, copies))
    return grown


def snapshot_figure(system: System) -> Figure:
    """Median of live snapshots; a tool that does not answer is an error, because failing is fast."""
    took: list[float] = []
    places = 0
    for _ in range(SNAPSHOTS):
        began = time.monotonic()
        seen = system.snapshot(time.time())
        took.append(time.monotonic() - began)
        if seen.missing:
            raise RevelioError(f"{system.name}: {', '.join(seen.missing)} did not answer the snapshot; see `revelio doctor`")
        places = sum(e.kind == "container" for e in seen.entities)
        time.sleep(1.0)
    median = statistics.median(took)
    detail = (
        f"{system.name}: {len(system.tools)} tools, {format_count(places, 'container')}; {min(took):.2f} to {max(took):.2f} s"
    )
    return Figure("snapshot of a live system", median, "s", MOST_SNAPSHOT_S, median <= MOST_SNAPSHOT_S, detail)


def _against_encoder(service: Service, incident: Incident, reports: list[str], rounds: int) -> Figure:
    recommender = service.recommender
    large = enlarged(service, incident)
    answer_incident(large, recommender)
    whole, bare = [], []
    for number in range(rounds):
        report = f"{reports[number % len(reports)]} ({number})"
        asked = replace(large, report=report, evidence=_uncached(large.evidence))
        bare.append(_milliseconds(lambda text=report: recommender.ranker.text.encode([text])))  # type: ignore[misc]
        whole.append(_milliseconds(lambda new=asked: answer_incident(new, recommender)))  # type: ignore[misc]
    count = len(recommender.candidates(large))
    one, other = statistics.median(whole), statistics.median(bare)
    detail = f"median {one:.1f} ms for new evidence about {count} known candidates, report encoder alone {other:.1f} ms"
    return _figure("recommendation / encoder", one / other, "x", MOST_ENCODER_TIMES, detail)


def _uncached(evidence: Evidence) -> Evidence:
    """A copy of the evidence, so that no cache recognises it."""
    again: Evidence = pickle.loads(pickle.dumps(evidence))
    return again


def _first_answer(incident: str, environment: dict[str, str]) -> Figure:
    taken = [
        _milliseconds(lambda: _revelio(("recommend", "--incident", incident, "--json"), environment)) / 1000.0
        for _ in range(STARTS)
    ]
    return _figure("first answer", statistics.median(taken), "s", MOST_FIRST_ANSWER_S, f"median of {STARTS} fresh processes")


def _resident(incident: str, environment: dict[str, str]) -> Figure:
    code = f"from revelio.cli.measure import report_memory; report_memory({incident!r})"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False, timeout=120)
    if done.returncode:
        raise RevelioError(f"measuring memory failed: {done.stderr.strip().splitlines()[-1]}")
    return _figure(
        "resident memory", float(done.stdout) / 1024.0, "MB", MOST_RESIDENT_MB, f"peak over 20 answers, {CANDIDATES} candidates"
    )


def report_memory(incident_id: str) -> None:
    """Answer 20 times, then print the peak resident memory of this process in KiB."""
    import resource

    from revelio.settings import load_settings

    service = Service(load_settings())
    large = enlarged(service, service.incidents.get(incident_id).incident())
    for number in range(20):
        answer_incident(replace(large, report=f"it is slow ({number})"), service.recommender)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def _served(service: Service, incident: str, reports: list[str], rounds: int, environment: dict[str, str]) -> Figure:
    with _server(environment) as server:
        inside, served = [], []
        for number in range(rounds + 1):
            report = f"{reports[number % len(reports)]} ({number})"
            asked = {"report": report, "incident": incident}
            served.append(_milliseconds(lambda body=asked: _ask(server, body)))  # type: ignore[misc]
            inside.append(_milliseconds(lambda text=report: service.rank(RecommendRequest(text, incident=incident))))  # type: ignore[misc]
    one, other = statistics.median(served[1:]), statistics.median(inside[1:])
    return _figure(
        "served / in process", one / other, "x", MOST_SERVED_TIMES, f"median {one:.1f} ms over HTTP, {other:.1f} ms in process"
    )


def _ask(server: HTTPConnection, body: dict[str, str]) -> None:
    """Uses http.client, to measure the server and not a client library."""
    server.request("POST", "/api/v1/recommendations", json.dumps(body), {"Content-Type": "application/json"})
    answer = server.getresponse()
    said = answer.read()
    if answer.status != HTTPStatus.OK:
        raise RevelioError(f"the server to measure answered {answer.status}: {said.decode(errors='replace')[:200]}")


@contextmanager
def _server(environment: dict[str, str]) -> Iterator[HTTPConnection]:
    """A connection to a new server on a free port with an empty store; both end with the block."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        own = environment | {"REVELIO_DATABASE": f"sqlite:///{folder}/bench.db", "REVELIO_RATE_LIMIT": "0"}
        command = [_command(), "serve", "--port", str(port)]
        process = subprocess.Popen(command, env=own, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            with closing(HTTPConnection("127.0.0.1", port, timeout=30.0)) as server:
                _wait(server, process)
                yield server
        finally:
            process.terminate()
            process.wait(timeout=10)


def _wait(server: HTTPConnection, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + SERVER_READY_S
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(OSError, HTTPException):
            server.request("GET", "/healthz")
            answer = server.getresponse()
            answer.read()
            if answer.status == HTTPStatus.OK:
                return
        server.close()
        time.sleep(0.05)
    process.terminate()
    said = process.stderr.read().strip() if process.stderr else ""
    raise RevelioError(f"the server to measure did not come up: {said or 'no answer'}")


def _repeated(evidence: Evidence, copies: int) -> Evidence:
    def again(items: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(replace(item, entity=_copied(item.entity, n)) for n in range(copies) for item in items)

    spans = tuple(
        replace(span, entity=_copied(span.entity, n), service=_name(span.service, n))
        for n in range(copies)
        for span in evidence.spans
    )
    return replace(
        evidence,
        entities=tuple(_copied(entity, n) for n in range(copies) for entity in evidence.entities),
        series=again(evidence.series),
        logs=again(evidence.logs),
        spans=spans,
        changes=again(evidence.changes),
        features=again(evidence.features),
    )


def _copied(entity: Entity, number: int) -> Entity:
    """Edges connect copies of the same number; operations stay with their service."""
    if "->" in entity.name:
        caller, callee = entity.name.split("->", 1)
        return Entity(entity.kind, f"{_name(caller, number)}->{_name(callee, number)}")
    service, colon, operation = entity.name.partition(": ")
    return Entity(entity.kind, f"{_name(service, number)}{colon}{operation}")


def _name(name: str, number: int) -> str:
    return f"{name}-{number + 1}" if number and name else name


def _environment(service: Service) -> dict[str, str]:
    """The environment of this process, with the measured model."""
    return dict(os.environ) | {"REVELIO_MODEL": str(service.settings.model), "REVELIO_INCIDENTS": str(service.settings.incidents)}


def _revelio(words: tuple[str, ...], environment: dict[str, str]) -> None:
    done = subprocess.run([_command(), *words], env=environment, capture_output=True, text=True, check=False, timeout=60)
    if done.returncode:
        raise RevelioError(f"`revelio {' '.join(words)}` failed: {done.stderr.strip()}")


def _command() -> str:
    return str(Path(sys.executable).with_name("revelio"))


def _milliseconds(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return (time.perf_counter() - began) * 1000.0


def _figure(name: str, value: float, unit: str, limit: float, detail: str) -> Figure:
    return Figure(name, value, unit, limit, value <= limit, detail)
