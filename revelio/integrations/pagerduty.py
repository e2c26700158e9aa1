"""PagerDuty: the payload of a V3 webhook subscription."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from revelio.integrations.alerts import MAX_LINK, MAX_TITLE, Alert, parse, report_of, text_at

_BEGINS = ("incident.triggered", "incident.reopened")
_ENDS = ("incident.resolved",)


class Event(BaseModel):
    """What happened; ``data`` is the incident where the event is about one."""

    model_config = ConfigDict(extra="ignore")
    id: str = Field(min_length=1)
    event_type: str
    occurred_at: str = ""
    data: dict[str, Any] | None = None


class Webhook(BaseModel):
    """The envelope."""

    model_config = ConfigDict(extra="ignore")
    event: Event


def read(payload: object) -> Alert | None:
    """What an event says of an incident; None for events that neither begin nor end one. Raises ``InvalidInputError``."""
    event = parse(Webhook, payload, "PagerDuty").event
    if event.event_type not in (*_BEGINS, *_ENDS):
        return None
    data = event.data or {}
    incident = text_at(data, "id")
    if not incident:
        parse(_Named, data, "PagerDuty")
    service = text_at(data, "service", "summary")
    title = text_at(data, "title") or f"incident {incident}"
    return Alert(
        source="pagerduty",
        key=incident,
        status="resolved" if event.event_type in _ENDS else "firing",
        started=event.occurred_at or event.id,
        title=title[:MAX_TITLE],
        report=report_of([f"{title} ({service})" if service else title]),
        system=service,
        link=text_at(data, "html_url")[:MAX_LINK],
    )


class _Named(BaseModel):
    id: str = Field(min_length=1)
