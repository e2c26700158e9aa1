"""How Loki is found: it answers as the tool asks it."""

from __future__ import annotations

from revelio.tools.probe import Probe

PROBES = {"loki": Probe((3100,), grafana=("loki",), explored=True)}
