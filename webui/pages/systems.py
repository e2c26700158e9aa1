"""Systems: whether their backends answer, what they consist of, who calls whom."""

from __future__ import annotations

from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from revelio.catalog import Catalog
from revelio.errors import CatalogError, DatasetError, NotFoundError
from revelio.service import Service
from revelio.service.snapshots import last_snapshot, take_snapshot
from revelio.systems.health import Health
from webui.deps import ServiceDep, health_of
from webui.i18n import gettext
from webui.views.contexts import BackendRow, SystemPage, SystemRow, SystemsPage
from webui.views.service_map import service_map
from webui.views.templating import render

router = APIRouter(include_in_schema=False)

_WAIT_S = 1.5
"""How long a page waits for backends before it shows what is known."""


@router.get("/systems")
def systems(request: Request, service: ServiceDep) -> Response:
    """All systems, live and recorded."""
    live = service.systems
    health = health_of(request, service, live, _WAIT_S)
    counts: dict[str, int] = {}
    trouble = ""
    try:
        for one in service.recorded():
            counts[one.system] = counts.get(one.system, 0) + 1
    except DatasetError as error:
        trouble = str(error)
    rows = []
    for name in sorted({*live, *counts}):
        known = health.get(name, Health(None))
        rows.append(SystemRow(name, name in live, counts.get(name, 0), known, _backends(service, name, known)))
    return render(request, SystemsPage(tuple(rows), trouble))


@router.get("/systems/{name}")
def system(request: Request, name: str, service: ServiceDep) -> Response:
    """One system as it was last seen."""
    return _system(request, name, service, now=False)


@router.post("/systems/{name}/look")
def look(request: Request, name: str, service: ServiceDep) -> Response:
    """One system as its tools see it at this moment."""
    return _system(request, name, service, now=True)


@router.get("/systems/{name}/look")
def no_look(name: str) -> Response:
    """Where a reload, or a link from elsewhere, ends up: nothing is asked."""
    return RedirectResponse(f"/systems/{quote(name, safe='')}", 303)


def _system(request: Request, name: str, service: Service, *, now: bool) -> Response:
    live = name in service.systems
    counted = sum(r.system == name for r in service.recorded())
    if not live and not counted:
        raise NotFoundError(gettext("no system %(name)r; /systems lists those there are") % {"name": name})
    health = health_of(request, service, (name,), _WAIT_S)[name] if live else Health(None)
    seen = take_snapshot(service, name) if live and now else last_snapshot(service, name)
    missing = seen.evidence.missing if seen else ()
    if seen and not seen.evidence.entities:
        # A look that found nothing is said, and what was seen before stays on the page.
        seen = last_snapshot(service, name)
    page = SystemPage(
        row=SystemRow(name, live, counted, health, _backends(service, name, health)),
        snapshot=seen,
        missing=missing,
        looked=now,
        map=service_map(seen.evidence) if seen else None,
    )
    return render(request, page)


def _backends(service: Service, name: str, health: Health) -> tuple[BackendRow, ...]:
    """Every source of the settings and whether it answers (None before the first check), then the tools that have none."""
    settings = service.settings.systems.get(name)
    if settings is None:
        return ()
    try:
        catalog = service.catalog
    except CatalogError:
        catalog = Catalog(())
    states = {t.tool: t for t in health.tools}
    rows, served = [], set()
    for source, backend in settings.backends.items():
        product = catalog.product(backend.product or source)
        if product is None:
            continue
        state = states.get(source)
        served.add(product.tool)
        title = product.title if source == product.name else f"{product.title} ({source})"
        told = state.detail if state else ""
        rows.append(BackendRow(source, title, True, state.up if state else None, told))
    return (*rows, *(BackendRow(t.name, t.title, False, None, "") for t in catalog.tools if t.name not in served))
