"""Which webhook deliveries are let in."""

from __future__ import annotations

import time
from typing import Literal

from fastapi import HTTPException, Request

from revelio.integrations.signatures import has_credentials, signed_by_grafana, signed_by_pagerduty
from revelio.settings import Settings
from webui.accounts.identity import address_of
from webui.startup import is_loopback

Source = Literal["alertmanager", "pagerduty", "grafana"]

_PASSED_ON = ("forwarded", "x-forwarded-for", "x-real-ip", "via")
"""A request with one of these headers comes from another machine than the one that connected."""


def authenticate(source: Source, request: Request, body: bytes, settings: Settings) -> None:
    """Raise 401 or 403 unless the request carries the source's secret, or none is set and it comes from this machine."""
    alerts, headers = settings.alerts, request.headers
    secrets = {
        "alertmanager": (alerts.alertmanager_token, alerts.alertmanager_password),
        "pagerduty": (alerts.pagerduty_secret,),
        "grafana": (alerts.grafana_token, alerts.grafana_password, alerts.grafana_secret),
    }[source]
    words = [secret.get_secret_value() for secret in secrets]
    if not any(words):
        if not _from_this_machine(request, settings):
            raise HTTPException(403, f"No secret is set for {source}; set one under [alerts], see `revelio docs alerts`.")
        return
    authorization = headers.get("authorization", "")
    if source == "pagerduty":
        good = signed_by_pagerduty(body, headers.get("x-pagerduty-signature", ""), words[0])
    else:
        good = has_credentials(authorization, token=words[0], password=words[1])
    if source == "grafana" and words[2]:
        signature, stamp = headers.get("x-grafana-alerting-signature", ""), headers.get("x-grafana-alerting-timestamp")
        good = good or signed_by_grafana(body, signature, words[2], timestamp=stamp, now=time.time())
    if not good:
        raise HTTPException(401, f"The request does not carry the secret of {source}.", {"WWW-Authenticate": "Bearer"})


def _from_this_machine(request: Request, settings: Settings) -> bool:
    """Whether only a program of this machine can have sent it.

    A proxy on this machine connects from loopback too, for visitors from anywhere: where one is trusted, passes a request on,
    or may stand because accounts are on, the address of the connection says nothing.
    """
    proxied = settings.trusted_proxies or settings.accounts or any(name in request.headers for name in _PASSED_ON)
    return not proxied and is_loopback(settings.host) and is_loopback(address_of(request))
