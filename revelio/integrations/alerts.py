"""The common form of alerts from all sources, and the report made from one."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from revelio.errors import InvalidInputError

MAX_LINES = 10
MAX_TITLE, MAX_LINK = 300, 2_000
MAX_REPORT = 4_000
"""Longest report made of an alert, in characters."""
_WORDS = ("summary", "message", "title", "description")
_DULL = ("alertname", "severity", "grafana_folder", "__alert_rule_uid__")


@dataclass(frozen=True, slots=True)
class Alert:
    """An alert that fires or is resolved.

    ``key`` names the incident at its source, and ``started`` its present run: the same key with another start is a new
    incident. ``system`` is what the alert says of where it is; "" when it says nothing.
    """

    source: str
    key: str
    status: Literal["firing", "resolved"]
    started: str
    title: str
    report: str
    system: str = ""
    link: str = ""

    @property
    def digest(self) -> str:
        """Source and key in 64 hex digits."""
        return hashlib.sha256(f"{self.source}\0{self.key}".encode("utf-8", "replace")).hexdigest()


class LabelledAlert(BaseModel):
    """One alert of a group, as Alertmanager and Grafana write it."""

    model_config = ConfigDict(extra="ignore")
    status: Literal["firing", "resolved"]
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    starts_at: str = Field("", alias="startsAt")
    generator_url: str = Field("", alias="generatorURL")


class AlertGroup(BaseModel):
    """What Alertmanager (version 4) and Grafana (version 1) both send."""

    model_config = ConfigDict(extra="ignore")
    status: Literal["firing", "resolved"]
    group_key: str = Field(alias="groupKey", min_length=1)
    group_labels: dict[str, str] = Field({}, alias="groupLabels")
    common_labels: dict[str, str] = Field({}, alias="commonLabels")
    common_annotations: dict[str, str] = Field({}, alias="commonAnnotations")
    external_url: str = Field("", alias="externalURL")
    title: str = ""
    receiver: str = ""
    alerts: list[LabelledAlert] = Field(min_length=1)


M = TypeVar("M", bound=BaseModel)


def parse(model: type[M], payload: object, source: str) -> M:
    """The payload as its model; ``InvalidInputError`` names the fields that are wrong, not their values."""
    try:
        return model.model_validate(_writable(payload))
    except ValidationError as error:
        fields = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'body'}: {e['msg']}" for e in error.errors()[:5])
        raise InvalidInputError(f"this is no webhook of {source}: {fields}") from error


def grouped(source: str, group: AlertGroup, system_label: str) -> Alert:
    """A group of labelled alerts as one alert."""
    firing = [a for a in group.alerts if a.status == "firing"] or group.alerts
    labels = {**group.alerts[0].labels, **group.common_labels, **group.group_labels}
    title = words_of(group.common_annotations) or group.title or labels.get("alertname", "") or words_of(firing[0].annotations)
    return Alert(
        source=source,
        key=f"{group.receiver}\0{group.group_key}",
        status=group.status,
        # What is resolved may have been left out of a later notification, so only an open incident's first start is compared.
        started=min(a.starts_at for a in firing),
        title=title[:MAX_TITLE] or "an alert",
        report=report_of([line_of(a.labels, a.annotations) for a in firing]),
        system=labels.get(system_label, ""),
        link=group.external_url[:MAX_LINK],
    )


def words_of(annotations: Mapping[str, str]) -> str:
    """What an alert says for people, in its most usual annotations."""
    said: list[str] = []
    for name in _WORDS:
        text = " ".join(annotations.get(name, "").split())
        if text and not any(text in earlier for earlier in said):
            said.append(text)
    return ". ".join(said)


def line_of(labels: Mapping[str, str], annotations: Mapping[str, str]) -> str:
    """One alert in a line: its name, its words, where it is."""
    where = ", ".join(f"{name} {value}" for name, value in sorted(labels.items()) if value and name not in _DULL)
    parts = [p for p in (labels.get("alertname", ""), words_of(annotations)) if p]
    return ": ".join(parts) + (f" ({where})" if where else "")


def report_of(lines: Sequence[str]) -> str:
    """Lines as a report; more than ten are counted."""
    unique = list(dict.fromkeys(line for line in lines if line))
    more = [f"and {len(unique) - MAX_LINES} more"] if len(unique) > MAX_LINES else []
    return "\n".join([*unique[:MAX_LINES], *more])[:MAX_REPORT] or "an alert without words"


def text_at(payload: Mapping[str, Any], *path: str) -> str:
    """A text deep in a payload; "" where it is not there."""
    found: Any = payload
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, str) else ""


def _writable(payload: Any) -> Any:
    """Without what no database keeps: NUL bytes and halves of surrogate pairs."""
    if isinstance(payload, str):
        return payload.replace("\x00", "").encode("utf-8", "replace").decode("utf-8")
    if isinstance(payload, list):
        return [_writable(part) for part in payload]
    if isinstance(payload, dict):
        return {_writable(name): _writable(value) for name, value in payload.items()}
    return payload
