"""How a container engine is found: by its socket."""

from __future__ import annotations

from revelio.errors import SourceError
from revelio.tools.discovery import machine
from revelio.tools.probe import Probe, ProbeResult


def _look(url: str) -> ProbeResult:
    there = machine.engine(url.removeprefix("unix://"))
    if there is None:
        raise SourceError("containers", f"nothing answers at {url}")
    return ProbeResult(f"Docker, {there.containers} containers", True, there.projects)


PROBES = {"containers": Probe(places=lambda: (f"unix://{machine.DOCKER}",) if machine.engine() else (), look=_look)}
