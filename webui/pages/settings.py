"""The active settings, read only."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from webui.deps import ServiceDep
from webui.views.contexts import SettingsGroup, SettingsPage
from webui.views.settings import ActiveSetting, active_settings
from webui.views.templating import render

router = APIRouter(include_in_schema=False)


@router.get("/settings")
def settings(request: Request, service: ServiceDep) -> Response:
    """Every setting, its value and where that comes from."""
    groups: dict[str, list[ActiveSetting]] = {}
    for one in active_settings(service.settings):
        groups.setdefault(one.group, []).append(one)
    return render(request, SettingsPage(tuple(SettingsGroup(name, tuple(rows)) for name, rows in groups.items())))
