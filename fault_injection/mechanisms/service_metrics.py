"""Figures of a service's own metrics page."""

from __future__ import annotations

import re

import httpx

from fault_injection.apps import App
from fault_injection.engine import Engine
from revelio.errors import FaultError


def requests_served(app: App, service: str, engine: Engine, status: str = "", route: str = "") -> float:
    """Requests that a service counted since its start: all, or those whose status begins with ``status``, or of one ``route``.

    Raises ``FaultError`` when its metrics page does not answer.
    """
    found = re.findall(r"^http_server_request_duration_seconds_count\{(.*)\} (\S+)$", metrics(app, service, engine), re.MULTILINE)
    wanted = (f'http_response_status_code="{status}', f'http_route="{route}"' if route else "")
    return sum(float(value) for labels, value in found if all(label in labels for label in wanted))


def messages_failed(app: App, service: str, engine: Engine) -> float:
    """Messages that a service counted as failed since its start; ``FaultError`` when its metrics page does not answer."""
    found = re.findall(r"^messaging_process_duration_seconds_count\{(.*)\} (\S+)$", metrics(app, service, engine), re.MULTILINE)
    return sum(float(value) for labels, value in found if 'outcome="done"' not in labels)


def metrics(app: App, service: str, engine: Engine) -> str:
    """What a service's metrics page says now; ``FaultError`` when it does not answer."""
    address = f"http://{engine.address(service)}:{app.service_port}/metrics"
    try:
        return httpx.get(address, timeout=3.0, follow_redirects=True).raise_for_status().text
    except httpx.HTTPError as error:
        raise FaultError(f"{service} does not show its metrics: {error}") from error
