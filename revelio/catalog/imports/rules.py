"""Prometheus' alerting and recording rules: rule files, Kubernetes' PrometheusRule, and what ``/api/v1/rules`` answers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from revelio.catalog.imports.promql import UnusableError, judged, with_placeholders
from revelio.catalog.imports.question import MOST_BODY, MOST_TEXT, MOST_TITLE, Collector, ImportedQuestion, plain

_TEMPLATE = re.compile(r"\{\{.*?\}\}", re.DOTALL)


def read_rules(document: object, where: str, into: Collector, link: str = "") -> None:
    """The rules of one document. ``where`` names it in problems, ``link`` is the page that shows them."""
    groups = list(_groups(document))
    if not groups:
        into.problems.append(f"{where}: holds no groups of rules")
    for group, rules in groups:
        for number, rule in enumerate(rules if isinstance(rules, list) else [], 1):
            name = f"{where}: group {group}, rule {number}"
            if not isinstance(rule, Mapping):
                into.problems.append(f"{name}: is no rule")
                continue
            try:
                into.questions.append(_question(rule, group, link))
            except UnusableError as why:
                into.problems.append(f"{name} ({plain(_name(rule), 60)}): the expression {why}")


def _groups(document: object) -> Iterator[tuple[str, object]]:
    if not isinstance(document, Mapping):
        return
    data = document.get("data")
    spec = document.get("spec")
    part = data if isinstance(data, Mapping) else spec if isinstance(spec, Mapping) else document
    items = document.get("items")
    for item in items if isinstance(items, list) else ():
        yield from _groups(item)
    groups = part.get("groups")
    for group in groups if isinstance(groups, list) else ():
        if isinstance(group, Mapping):
            yield plain(group.get("name", "unnamed"), 60), group.get("rules")


def _name(rule: Mapping[str, object]) -> str:
    return str(rule.get("alert") or rule.get("record") or rule.get("name") or "unnamed")


def _question(rule: Mapping[str, object], group: str, link: str) -> ImportedQuestion:
    expression = rule.get("expr") or rule.get("query")
    if not isinstance(expression, str) or not expression.strip():
        raise UnusableError("is missing")
    if len(expression) > MOST_BODY:
        raise UnusableError(f"is longer than {MOST_BODY:,} characters")
    recording = "record" in rule or rule.get("type") == "recording"
    notes = rule.get("annotations")
    notes = notes if isinstance(notes, Mapping) else {}
    said = _TEMPLATE.sub("…", str(notes.get("description") or notes.get("message") or notes.get("summary") or ""))
    body, blanks = with_placeholders(judged(expression), {})
    kind = "recording rule" if recording else "alerting rule"
    runbook = notes.get("runbook_url")
    summary = plain(_TEMPLATE.sub("…", str(notes.get("summary") or "")), MOST_TITLE - 40)
    name = plain(_name(rule), 60)
    return ImportedQuestion(
        "prometheus",
        f"{name}: {summary}" if summary else name,
        plain(said, MOST_TEXT),
        body,
        f"From your {kind} {name} in the group {group}.",
        str(runbook) if isinstance(runbook, str) and runbook.startswith(("http://", "https://")) else link,
        blanks,
    )
