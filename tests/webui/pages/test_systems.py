"""The table of a system's sources: every backend of the settings under its own name, then the tools that have none."""

from __future__ import annotations

from pathlib import Path

from revelio.service import Service
from revelio.settings import Backend, Settings, SystemSettings
from revelio.systems.health import Health
from revelio.systems.system import ToolState
from webui.pages.systems import _backends


def test_every_source_has_a_row_and_its_own_state(tmp_path: Path) -> None:
    there = {name: Backend(url="http://127.0.0.1:9") for name in ("victoriametrics", "loki", "loki-payments", "carrots")}
    settings = Settings(database=f"sqlite:///{tmp_path}/x.db", systems={"shop": SystemSettings(backends=there)})
    states = (ToolState("loki", True, "Loki 3"), ToolState("loki-payments", False, "http://u:secret@p is down"))
    rows = {row.tool: row for row in _backends(Service(settings), "shop", Health(1.0, states))}
    assert [(row.title, row.up) for row in rows.values() if row.set_up] == [
        ("VictoriaMetrics", None),
        ("Loki", True),
        ("Loki (loki-payments)", False),
    ]
    assert "secret" not in rows["loki-payments"].detail
    assert {"jaeger", "redis"} <= {tool for tool, row in rows.items() if not row.set_up}
    assert not {"prometheus", "elasticsearch"} & rows.keys(), "a relative answers in their stead"
