"""How a kind of backend is found: where it usually is, and what it says of itself. Each tool owns the probes of its products."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field

from revelio.settings import Backend
from revelio.tools.base import Limits
from revelio.tools.fetch import Fetcher

TIMEOUT_S = 3.0
"""How long one question of a probe may take, in seconds."""


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """What answers at an address; not ``usable`` where only its user can add what is missing, such as a password.

    ``projects`` counts how often it names each project, and ``settings`` are further settings that its backend needs.
    """

    detail: str
    usable: bool = True
    projects: Mapping[str, int] = field(default_factory=dict)
    services: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Probe:
    """How one product is found.

    ``ports`` are those on which it usually listens, and ``url`` is what its backend is given of such an address.
    ``places`` gives further urls, for products that are not found by a port. ``look`` asks what is at a url; it raises
    ``SourceError`` where that is something else, and ``ping`` of the tool does where there is no ``look``.
    ``grafana`` are the types of its data sources in Grafana, and ``explored`` says that links open there. ``page`` says that
    a browser opens the url itself.
    """

    ports: tuple[int, ...] = ()
    url: str = "http://{}"
    places: Callable[[], tuple[str, ...]] = tuple
    look: Callable[[str], ProbeResult] | None = None
    grafana: tuple[str, ...] = ()
    explored: bool = False
    page: bool = False


def over_http(source: str, look: Callable[[Fetcher], ProbeResult]) -> Callable[[str], ProbeResult]:
    """A ``look`` that asks over HTTP."""

    def asked(url: str) -> ProbeResult:
        with closing(Fetcher(source, Backend(url=url), Limits(seconds=TIMEOUT_S))) as fetch:
            return look(fetch)

    return asked
