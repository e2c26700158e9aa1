"""Which role each route needs, and the order of roles."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

from revelio.store import Role

Need = Literal["anybody"] | Role
"""``anybody``: no account needed. Addresses of other services that sign what they send check that signature themselves."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A method and an address with ``{blanks}`` of one segment, or ``{blank:path}`` for all that follows."""

    method: str
    path: str
    need: Need
    pattern: re.Pattern[str] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        escaped = re.escape(self.path).replace(r"\{", "{").replace(r"\}", "}")
        pattern = re.sub(r"\{\w+:path\}", ".*", escaped)
        object.__setattr__(self, "pattern", re.compile(re.sub(r"\{\w+\}", "[^/]+", pattern) + r"\Z", re.DOTALL))


def rules(need: Need, *lines: str) -> tuple[Rule, ...]:
    """A rule for each line, such as ``GET /r/{answer_id}``."""
    return tuple(Rule(method, path, need) for method, path in (line.split(" ") for line in lines))


RULES = (
    *rules(
        "anybody",
        "GET /healthz",
        "GET /readyz",
        "GET /static/{path:path}",
        "GET /sign-in",
        "POST /sign-in",
        "GET /sign-in/provider",
        "GET /sign-in/back",
        "POST /slack/events",
        "POST /slack/commands",
        "POST /slack/actions",
        "POST /api/v1/webhooks/alertmanager",
        "POST /api/v1/webhooks/pagerduty",
        "POST /api/v1/webhooks/grafana",
    ),
    *rules(
        "viewer",
        "GET /",
        "GET /r",
        "GET /progress/{question_id}",
        "GET /r/{answer_id}",
        "GET /r/{answer_id}/run",
        "GET /r/{answer_id}/run-first",
        "GET /r/{answer_id}/feedback",
        "GET /r/{answer_id}/resolve",
        "GET /r/{answer_id}/revision",
        "GET /r/{answer_id}/post-mortem.md",
        "GET /history",
        "GET /systems",
        "GET /systems/{name}",
        "GET /systems/{name}/look",
        "GET /catalog",
        "GET /model",
        "GET /settings",
        "GET /api/v1/webhooks/incidents",
        "GET /api/v1/webhooks/incidents/{incident_id}",
        "GET /metrics",
        "GET /api/docs",
        "GET /api/openapi.json",
        "GET /api/v1/recommendations",
        "GET /api/v1/recommendations/{recommendation_id}",
        "GET /api/v1/recommendations/{recommendation_id}/similar",
        "GET /api/v1/recommendations/{recommendation_id}/feedback",
        "GET /api/v1/incidents",
        "GET /api/v1/systems",
        "GET /api/v1/me",
        "GET /api/v1/tokens",
        "POST /api/v1/tokens",
        "DELETE /api/v1/tokens/{token_id}",
        "POST /sign-out",
        "GET /account",
        "POST /account/password",
        "POST /account/tokens",
        "POST /account/tokens/revoke",
    ),
    *rules(
        "responder",
        "POST /r",
        "POST /progress/{question_id}/cancel",
        "POST /systems/{name}/look",
        "POST /r/{answer_id}/run",
        "POST /r/{answer_id}/run-first",
        "GET /mcp",
        "POST /mcp",
        "DELETE /mcp",
        "POST /r/{answer_id}/feedback",
        "POST /r/{answer_id}/resolve",
        "POST /api/v1/recommendations",
        "POST /api/v1/recommendations/{recommendation_id}/queries/{query_id}/run",
        "POST /api/v1/recommendations/{recommendation_id}/feedback",
    ),
    *rules(
        "admin",
        "GET /slack/install",
        "GET /slack/oauth_redirect",
        "GET /people",
        "POST /people",
        "POST /people/role",
        "POST /people/remove",
        "POST /model/use",
        "GET /audit",
        "GET /api/v1/users",
        "POST /api/v1/users",
        "PATCH /api/v1/users/{name}",
        "DELETE /api/v1/users/{name}",
        "GET /api/v1/audit",
    ),
)


def need_of(method: str, path: str) -> Need:
    """What a request needs. An address that the table does not have is an admin's: what was forgotten stays closed."""
    wanted = "GET" if method == "HEAD" else method
    return next((rule.need for rule in _of_method(wanted) if rule.pattern.match(path)), "admin")


@cache
def _of_method(method: str) -> tuple[Rule, ...]:
    return tuple(rule for rule in RULES if rule.method == method)
