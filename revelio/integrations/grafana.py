"""Grafana Alerting: the payload of a webhook contact point."""

from __future__ import annotations

from revelio.integrations.alerts import Alert, AlertGroup, grouped, parse


def read(payload: object, system_label: str = "system") -> Alert:
    """A notification about one group of alerts. Raises ``InvalidInputError``."""
    return grouped("grafana", parse(AlertGroup, payload, "Grafana"), system_label)
