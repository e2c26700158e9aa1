"""What answers at an address: a given product, or another one."""

from __future__ import annotations

import time
from collections.abc import Callable

from revelio.catalog import Catalog
from revelio.errors import SourceError
from revelio.settings import Backend
from revelio.support.deadline import end
from revelio.support.telemetry import Workers
from revelio.tools.base import Limits
from revelio.tools.discovery import machine
from revelio.tools.probe import TIMEOUT_S, Probe, ProbeResult
from revelio.tools.registry import make_tool, probes


def seen_at(catalog: Catalog, product: str, url: str) -> ProbeResult:
    """What a product says of itself at an address; ``SourceError`` where something else, or nothing, answers there."""
    probe = probes().get(product, Probe())
    try:
        return probe.look(url) if probe.look else ProbeResult(_ping(catalog, product, url))
    except (ValueError, TypeError, KeyError, AttributeError, IndexError) as error:
        title = next(p.title for p in catalog.products if p.name == product)
        raise SourceError(product, f"answers, but not like {title}") from error


def identify_other_product(catalog: Catalog, product: str, url: str) -> str:
    """A sentence on the product of another kind that answers at an address over HTTP; "" where none is known to.

    It is asked without a password: one that wants it is not recognised. Nothing is asked once the deadline has passed.
    """
    if not url.startswith(("http://", "https://")) or end(TIMEOUT_S) <= time.monotonic():
        return ""
    tools = {p.name: p.tool for p in catalog.products}
    spoken = [name for name, probe in probes().items() if probe.ports and probe.url.startswith("http")]
    others = [name for name in spoken if name in tools and tools[name] != tools.get(product)]
    with Workers(max_workers=len(others) + 1) as pool:
        grafana = pool.submit(machine.grafana, url)
        seen = dict(zip(others, pool.map(lambda name: _title(catalog, name, url), others), strict=True))
        if grafana.result() is not None:
            return "a Grafana answers; give the address of the data source that it asks"
    name, title = next(((name, title) for name, title in seen.items() if title), ("", ""))
    return f"{title} answers; name it as backends.{name}" if title else ""


def _title(catalog: Catalog, product: str, url: str) -> str:
    try:
        return seen_at(catalog, product, url).detail.partition(",")[0]
    except SourceError:
        return ""


def _ping(catalog: Catalog, product: str, url: str) -> str:
    of = next(p.tool for p in catalog.products if p.name == product)
    spec = next(t for t in catalog.tools if t.name == of)
    tool = make_tool(spec, Backend(url=url), Limits(seconds=TIMEOUT_S), product)
    if tool is None:
        raise SourceError(product, "nothing here can ask it")
    close: Callable[[], None] | None = getattr(tool, "close", None)
    try:
        return tool.ping()
    finally:
        if close is not None:
            close()
