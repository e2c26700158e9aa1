"""The settings in force, read only."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from webui.api import TheDesk
from webui.contexts import SettingsGroup, SettingsPage
from webui.provenance import SettingInForce, settings_in_force
from webui.rendering import render

router = APIRouter(include_in_schema=False)


@router.get("/settings")
def settings(request: Request, desk: TheDesk) -> Response:
    """Every setting, its value and where that comes from."""
    groups: dict[str, list[SettingInForce]] = {}
    for one in settings_in_force(desk.bench.settings):
        groups.setdefault(one.group, []).append(one)
    return render(request, SettingsPage(tuple(SettingsGroup(name, tuple(rows)) for name, rows in groups.items())))
