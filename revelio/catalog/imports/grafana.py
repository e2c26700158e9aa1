"""Grafana's dashboards: exported JSON of any schema, and what its HTTP API answers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from revelio.catalog.imports.promql import UnusableError, with_placeholders
from revelio.catalog.imports.question import MOST_BODY, MOST_TEXT, MOST_TITLE, Collector, ImportedQuestion, plain

_TARGETS = 4
_VARIABLE = re.compile(r"\$\{?(\w+)(?::\w+)?\}?|\[\[(\w+)\]\]")


def read_dashboard(document: object, where: str, into: Collector, base: str = "") -> None:
    """The panels of one dashboard. ``base`` is the address of the Grafana that links lead to; "" where there is none."""
    dashboard = document.get("dashboard") if isinstance(document, Mapping) else None
    dashboard = dashboard if isinstance(dashboard, Mapping) else document
    if isinstance(dashboard, Mapping) and isinstance(dashboard.get("spec"), Mapping):
        dashboard = dashboard["spec"] | {"uid": (dashboard.get("metadata") or {}).get("name", "")}
    panels = list(_panels(dashboard)) if isinstance(dashboard, Mapping) else []
    if not isinstance(dashboard, Mapping) or not panels:
        into.problems.append(f"{where}: holds no panels of a dashboard")
        return
    title = plain(dashboard.get("title") or where, 80)
    uid = dashboard.get("uid")
    page = f"{base.rstrip('/')}/d/{uid}" if base and isinstance(uid, str) and uid else ""
    variables = _variables(dashboard)
    for panel in panels:
        name = plain(_VARIABLE.sub("…", str(panel.get("title") or "untitled")), MOST_TITLE)
        number = panel.get("id")
        link = f"{page}?viewPanel={number}" if page and isinstance(number, int) else page
        for expression, legend in list(_expressions(panel))[:_TARGETS]:
            several = plain(_VARIABLE.sub("…", legend), 40) if legend and "{{" not in legend else ""
            try:
                body, blanks = _read(expression, variables)
            except UnusableError as why:
                into.problems.append(f"{where}: panel {name}: the expression {why}")
                continue
            into.questions.append(
                ImportedQuestion(
                    "prometheus",
                    f"{title}: {name}{f' ({several})' if several and several != name else ''}",
                    plain(panel.get("description"), MOST_TEXT),
                    body,
                    f'From your dashboard "{title}", panel "{name}".',
                    link,
                    blanks,
                )
            )


def _read(expression: str, variables: Mapping[str, str]) -> tuple[str, tuple[tuple[str, str], ...]]:
    if len(expression) > MOST_BODY:
        raise UnusableError(f"is longer than {MOST_BODY:,} characters")
    return with_placeholders(expression, variables)


def _panels(dashboard: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    """Every panel: those in rows, old or new, and the elements of the newest schema."""
    elements = dashboard.get("elements")
    if isinstance(elements, Mapping):
        yield from (e["spec"] for e in elements.values() if isinstance(e, Mapping) and isinstance(e.get("spec"), Mapping))
    for key in ("panels", "rows"):
        parts = dashboard.get(key)
        for part in parts if isinstance(parts, list) else ():
            if isinstance(part, Mapping):
                if part.get("targets") or part.get("type") not in ("row", None):
                    yield part
                yield from _panels(part)


def _expressions(panel: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """The PromQL of a panel with its legends; other languages are left out."""
    targets = panel.get("targets")
    if isinstance(targets, list):
        for target in targets:
            if isinstance(target, Mapping) and not target.get("hide") and _of_prometheus(target) and _of_prometheus(panel):
                expression = target.get("expr")
                if isinstance(expression, str) and expression.strip():
                    yield expression, str(target.get("legendFormat") or "")
        return
    waiting: list[object] = [panel.get("data")]
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, Mapping):
            if isinstance(node.get("expr"), str):
                yield str(node["expr"]), str(node.get("legendFormat") or "")
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node


def _of_prometheus(part: Mapping[str, object]) -> bool:
    source = part.get("datasource")
    kind = source.get("type") if isinstance(source, Mapping) else None
    return kind in (None, "prometheus", "mixed", "datasource") or "prometheus" in str(kind)


def _variables(dashboard: Mapping[str, object]) -> dict[str, str]:
    """Values of variables that an expression may use outside of matchers: constants, intervals, those chosen last."""
    templating = dashboard.get("templating")
    listed = templating.get("list") if isinstance(templating, Mapping) else dashboard.get("variables")
    found = {}
    for variable in listed if isinstance(listed, list) else ():
        spec = variable.get("spec") if isinstance(variable, Mapping) and isinstance(variable.get("spec"), Mapping) else variable
        if not isinstance(spec, Mapping):
            continue
        current = spec.get("current")
        value = current.get("value") if isinstance(current, Mapping) else None
        value = value[0] if isinstance(value, list) and value else value
        if isinstance(value, str) and value not in ("$__all", "All", ""):
            found[str(spec.get("name"))] = value
        elif isinstance(spec.get("query"), str) and spec.get("type") in ("constant", "textbox"):
            found[str(spec.get("name"))] = str(spec["query"])
    return found
