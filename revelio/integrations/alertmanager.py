"""Prometheus Alertmanager: the payload of ``webhook_config``, version 4."""

from __future__ import annotations

from revelio.integrations.alerts import Alert, AlertGroup, grouped, parse


def read(payload: object, system_label: str = "system") -> Alert:
    """A notification about one group of alerts. Raises ``InvalidInputError``."""
    return grouped("alertmanager", parse(AlertGroup, payload, "Alertmanager"), system_label)
