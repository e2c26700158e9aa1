"""What answers on this machine, at addresses that were given, and behind the data sources of a Grafana."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from revelio.catalog import Catalog
from revelio.errors import NotFoundError, SourceError
from revelio.support.telemetry import Workers
from revelio.tools.discovery import machine
from revelio.tools.discovery.machine import ComposeEngine, DataSource, Grafana
from revelio.tools.probe import Probe
from revelio.tools.registry import probes
from revelio.tools.seen_at import identify_other_product, seen_at

ALWAYS = ("prometheus", "jaeger", "elasticsearch")
"""Products whose absence `init` reports, and writes down as what could be set."""

_MOST_DATA_SOURCES = 20
_RUNNERS = ("containers", "kubernetes")
"""Tools of what runs the parts of a system: it knows best to which project they belong."""


@dataclass(frozen=True, slots=True)
class FoundBackend:
    """A backend, or why there is none. ``projects`` counts how often it names each project.

    ``name`` is what its settings are to be called, ``settings`` are further ones, and ``page`` says that a browser opens its url.
    ``why`` says how it was come by, and ``known`` that it is what it was looked for, though something may be lacking.
    """

    tool: str
    url: str
    up: bool
    detail: str
    projects: Mapping[str, int] = field(default_factory=dict)
    services: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    name: str = ""
    page: bool = False
    why: str = ""
    known: bool = False


class BackendFinder:
    """Finds backends of the products that have a probe."""

    def __init__(self, catalog: Catalog) -> None:
        """Asks nothing yet."""
        self.catalog = catalog
        self.probes: Mapping[str, Probe] = probes()

    def at(self, name: str, url: str) -> FoundBackend:
        """What is at an address that was given for a backend of that name. Never raises for what answers there, or does not."""
        product = self.catalog.product(name)
        if product is None:
            known = ", ".join(p.name for p in self.catalog.products)
            raise NotFoundError(f"no source is called {name!r}; there are {known}, and names that begin so and a dash")
        found = self._look(product.name, url.rstrip("/"))
        there = "" if found.up else identify_other_product(self.catalog, product.name, found.url)
        return replace(found, name=name, why="named", detail=f"is no {product.title}: {there}" if there else found.detail)

    def beside(self, named: Sequence[FoundBackend]) -> list[FoundBackend]:
        """What runs where these do, of kinds that none of them is: on this machine, or at usual ports of their hosts."""
        kinds = {self._kind(one.tool) for one in named}
        hosts = dict.fromkeys(host for one in named if one.up and (host := urlsplit(one.url).hostname))
        found = [one for host in hosts if not machine.is_here(host) for one in self._at_host(host)]
        if any(machine.is_here(host) for host in hosts):
            found += self._with_grafana(self._claimed(there := machine.engine()), self._grafana(there))
        first = {one.name: one for one in reversed(found) if self._kind(one.tool) not in kinds}
        return [one for one in found if first.get(one.name) is one]

    def here(self) -> list[FoundBackend]:
        """What runs on this machine, and what data sources of a Grafana here point to."""
        there = machine.engine()
        every = self._claimed(there)
        there_are = {self._kind(one.tool) for one in every if one.up}
        lacking = [product for product in ALWAYS if self._kind(product) not in there_are and not _of(product, every)]
        absent = [FoundBackend(p, f"http://127.0.0.1:{self.probes[p].ports[0]}", False, "not found", name=p) for p in lacking]
        return self._with_grafana([*absent, *every], self._grafana(there))

    def _claimed(self, there: ComposeEngine | None) -> list[FoundBackend]:
        """What answers on this machine; of several products at one place, the first that says it knows it."""
        with Workers(max_workers=len(self.probes) + 1) as pool:
            looked = [one for found in pool.map(lambda product: list(self._of(product, there)), self.probes) for one in found]
        claimed = {_place(found.url): found for found in reversed(looked) if found.known}
        return [f for f in looked if claimed.get(_place(f.url), f) is f]

    def _at_host(self, host: str) -> list[FoundBackend]:
        """What answers at usual ports of another host."""
        named = f"[{host}]" if ":" in host else host

        def first(product: str) -> FoundBackend | None:
            probe = self.probes[product]
            urls = [probe.url.format(f"{named}:{port}") for port in probe.ports if machine.listens(port, host)]
            looked = [replace(self._look(product, url), why=f"at its usual port of {host}") for url in urls]
            return next((one for one in looked if one.up), None)

        with Workers(max_workers=len(self.probes) + 1) as pool:
            return [one for one in pool.map(first, self.probes) if one is not None]

    def _kind(self, product: str) -> str:
        """The tool of the catalog that asks a product: what one product of a kind answers, another needs not."""
        known = self.catalog.product(product)
        return known.tool if known else product

    def _of(self, product: str, there: ComposeEngine | None) -> Iterator[FoundBackend]:
        """The first that answers, else what is wrong with the first place."""
        probe = self.probes[product]
        usual = {probe.url.format(f"127.0.0.1:{port}") for port in probe.ports}
        urls = [*(probe.url.format(address) for address in machine.addresses(probe.ports, there)), *probe.places()]
        looked = []
        for url in urls:
            why = "at its usual port" if url in usual else "at a port that a container publishes" if probe.ports else "is here"
            looked.append(replace(self._look(product, url), why=why))
            if looked[-1].up:
                break
        yield from [f for f in looked if f.up] or looked[:1]

    def _look(self, product: str, url: str) -> FoundBackend:
        try:
            seen = seen_at(self.catalog, product, url)
        except SourceError as error:
            return FoundBackend(product, url, False, error.reason, name=product)
        page = self.probes.get(product, Probe()).page
        return FoundBackend(
            product, url, seen.usable, seen.detail, seen.projects, seen.services, seen.settings, product, page, known=True
        )

    def _grafana(self, there: ComposeEngine | None) -> Grafana | None:
        urls = (f"http://{address}" for address in machine.addresses(machine.GRAFANA_PORTS, there))
        return next((found for url in urls if (found := machine.grafana(url)) is not None), None)

    def _with_grafana(self, found: list[FoundBackend], grafana: Grafana | None) -> list[FoundBackend]:
        """With links into a Grafana, and with the backends that only its data sources name."""
        if grafana is None:
            return found
        linked = [self._linked(one, grafana) for one in found]
        known = {one.url for one in linked}
        for source in grafana.sources[:_MOST_DATA_SOURCES]:
            url = _address(source)
            if url.startswith(("http://", "https://")) and url not in known:
                linked += self._behind(source, url, grafana, [one.name for one in linked if one.up])
                known.add(url)
        return linked

    def _linked(self, one: FoundBackend, grafana: Grafana) -> FoundBackend:
        probe = self.probes.get(one.tool, Probe())
        if not one.up or not probe.explored:
            return one
        of = grafana.of(probe.grafana)
        uid = next((s.uid for s in (*(s for s in of if _address(s) == one.url), *of)), "")
        if grafana.told and not uid:
            return one
        return replace(one, settings={**one.settings, "grafana": grafana.url, "datasource": uid})

    def _behind(self, source: DataSource, url: str, grafana: Grafana, taken: Sequence[str]) -> Iterator[FoundBackend]:
        for product, probe in self.probes.items():
            if source.kind in probe.grafana and (one := self._look(product, url)).up:
                name = product if product not in taken else f"{product}-{_slug(source.name) or len(taken)}"
                links = {"grafana": grafana.url, "datasource": source.uid} if probe.explored else {}
                why = f"data source {source.name!r} of the Grafana at {grafana.url}"
                yield replace(one, name=name, page=False, settings={**one.settings, **links}, why=why)
                return


@dataclass(frozen=True, slots=True)
class NamedProject:
    """A project, "" where none is named; ``reason`` says which sources name it, or who chose it."""

    name: str
    reason: str = ""


def projects_of(found: Sequence[FoundBackend], catalog: Catalog) -> tuple[NamedProject, ...]:
    """The projects that sources name, best first: what most sources name, what names the containers, the largest."""
    runners = {p.name for p in catalog.products if p.tool in _RUNNERS}
    named: dict[str, list[FoundBackend]] = {}
    for one in found:
        for name in one.projects:
            named.setdefault(name, []).append(one)

    def weight(name: str) -> tuple[int, bool, int]:
        by = named[name]
        return len(by), any(one.tool in runners for one in by), sum(one.projects[name] for one in by)

    def reason(name: str) -> str:
        return f"named by {', '.join(f'{catalog_title(catalog, o.tool)} ({o.projects[name]:,})' for o in named[name])}"

    return tuple(NamedProject(name, reason(name)) for name in sorted(sorted(named), key=weight, reverse=True))


def catalog_title(catalog: Catalog, product: str) -> str:
    """What people call a product."""
    known = catalog.product(product)
    return known.title if known else product


def _place(url: str) -> str:
    return url.partition("://")[2]


def _address(source: DataSource) -> str:
    return source.url.rstrip("/").replace("//localhost:", "//127.0.0.1:")


def _of(product: str, found: Sequence[FoundBackend]) -> list[FoundBackend]:
    return [one for one in found if one.tool == product]


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40]
