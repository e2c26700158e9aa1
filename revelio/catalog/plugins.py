"""Tools of other distributions, announced under the entry-point group ``revelio.tools``, and the catalog with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from revelio.catalog import Catalog, ToolSpec, bundled_catalog, load_catalog
from revelio.errors import CatalogError
from revelio.settings import Settings

GROUP = "revelio.tools"


@dataclass(frozen=True, slots=True)
class Plugin:
    """What an entry point names: a catalog file with one tool, what makes that tool, and how its backend is found.

    ``tool`` is called with the catalog entry, the backend and the limits, as the tools of ``revelio.tools`` are.
    ``probe`` is a ``revelio.tools.probe.Probe``, or None where the backend cannot be found by looking.
    """

    catalog: Path
    tool: Callable[..., Any]
    probe: Any = None


@dataclass(frozen=True, slots=True)
class Announced:
    """A plug-in by the name of its tool. Where it is broken, ``trouble`` says why, and ``spec`` and ``plugin`` are None."""

    name: str
    distribution: str
    plugin: Plugin | None = None
    spec: ToolSpec | None = None
    trouble: str = ""


@cache
def announced() -> tuple[Announced, ...]:
    """Every plug-in that is installed, by name; one that is broken says why. Never raises, whatever they do."""
    found: dict[str, Announced] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda p: (p.name, p.value)):
        one = _read(point)
        if point.name in found:
            one = Announced(f"{point.name} ({one.distribution})", one.distribution, trouble=f"{point.name!r} is announced twice")
        found[one.name] = one
    return tuple(found.values())


def plugin(name: str) -> Announced | None:
    """The plug-in whose tool has this name, where it is not broken."""
    return next((one for one in announced() if one.name == name and one.plugin), None)


def with_plugins(catalog: Catalog) -> Catalog:
    """The catalog with the tools of all plug-ins that are not broken."""
    return Catalog((*catalog.tools, *(one.spec for one in announced() if one.spec)))


def own_catalog(settings: Settings) -> Catalog:
    """The catalog of the settings' files; the bundled one with all plug-ins where they name none."""
    return load_catalog(*settings.catalog) if settings.catalog else with_plugins(bundled_catalog())


def _read(point: EntryPoint) -> Announced:
    distribution = f"{point.dist.name} {point.dist.version}" if point.dist else point.value
    try:
        made = point.load()
    except Exception as error:  # it runs code of others
        return Announced(point.name, distribution, trouble=f"{point.value} cannot be loaded: {_told(error)}")
    if not isinstance(made, Plugin):
        return Announced(point.name, distribution, trouble=f"{point.value} is no revelio.catalog.plugins.Plugin")
    try:
        return Announced(point.name, distribution, made, _spec(point.name, made))
    except CatalogError as error:
        return Announced(point.name, distribution, trouble=str(error))


def _spec(name: str, made: Plugin) -> ToolSpec:
    path = Path(made.catalog)
    tools = load_catalog(path).tools
    if [tool.name for tool in tools] != [name]:
        said = ", ".join(tool.name for tool in tools)
        raise CatalogError(f"{path}:1: it is announced as {name!r}, so its catalog has to declare that tool alone, not {said}")
    if name in {product.name for product in bundled_catalog().products}:
        raise CatalogError(f"{path}:1: {name!r} is one of Revelio's own sources; give the tool another name")
    own = {template.id for template in bundled_catalog().templates}
    twice = next((template.id for template in tools[0].templates if template.id in own), None)
    if twice is not None:
        raise CatalogError(f"{path}:1: template id {twice!r} is one of Revelio's own; begin it with {name}.")
    return tools[0]


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".partition("\n")[0][:300]
