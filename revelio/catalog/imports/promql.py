"""PromQL of rules and dashboards as the body of a template: variables become placeholders, conditions become what they judge."""

from __future__ import annotations

import re
from collections.abc import Mapping

from revelio.types import Entity

LABEL_KIND = "label:"
"""Kinds of placeholders that stand for values of a label start so: ``label:job``."""

COMPONENT_LABELS = (
    *("service", "service_name", "app", "application", "workload", "deployment", "container", "container_name", "queue", "topic"),
    *("database", "datname", "job", "server", "pod", "instance", "node", "host", "namespace"),
)
"""Labels whose values name parts of a system, those first that say most to people."""

_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|`[^`]*`|#[^\n]*')
_VARIABLE = re.compile(r"\$\{(\w+)(?::\w+)?\}|\[\[(\w+)(?::\w+)?\]\]|\$([A-Za-z_]\w*)")
_INTERVALS = frozenset({"__rate_interval", "__interval", "interval", "resolution"})
_MATCHER = re.compile(r'(?P<label>\w+)\s*(?P<op>=~|!~|!=|=)\s*"(?P<value>(?:\\.|[^"\\])*)"')
_AGGREGATION = re.compile(
    r"\b(?:sum|avg|min|max|count|stddev|stdvar|group|topk|bottomk|quantile|count_values)\b\s*(?:(by|without)\s*\(([^)]*)\))?",
    re.IGNORECASE,
)
_AFTER = re.compile(r"\)\s*(by|without)\s*\(([^)]*)\)", re.IGNORECASE)
_COMPARISON = re.compile(r"(==|!=|>=|<=|>|<)\s*(?:bool\b)?")
_NUMBER = re.compile(r"[-+]?\s*[\d.]+(?:e[-+]?\d+)?(?:\s*[-+*/]\s*[\d.]+(?:e[-+]?\d+)?)*\s*\Z", re.IGNORECASE)
_DURATION = re.compile(r"\d+(ms|[smhdwy])")


class UnusableError(Exception):
    """The expression cannot be asked; its text says why, after "the expression"."""


def judged(expression: str) -> str:
    """The part of a condition that it compares with a number: an alert's series exists before it fires."""
    text = expression.strip()
    depth = 0
    masked = _TOKEN.sub(lambda m: "_" * len(m[0]), text)
    for index, character in enumerate(masked):
        depth += (character in "([{") - (character in ")]}")
        comparison = _COMPARISON.match(masked, index) if depth == 0 and character in "=!<>" else None
        if comparison and _NUMBER.match(masked, comparison.end()):
            return text[:index].strip()
    return text


def with_placeholders(expression: str, variables: Mapping[str, str]) -> tuple[str, tuple[tuple[str, str], ...]]:
    """A body and its placeholders. ``variables`` are values of a dashboard's variables that stand for no label.

    The variable that a matcher compares a component's label with becomes a placeholder, where the result still has that label;
    others stand for anything. ``UnusableError`` where a variable stands elsewhere and has no value.
    """
    text = " ".join(_TOKEN.sub(lambda m: "" if m[0].startswith("#") else m[0], expression).split())
    text = re.sub(r"\$\{(\d+)\}", r"$\1", text)  # a group of a regular expression, which is no variable
    text = re.sub(r"\$\{__range\}|\$__range\b", "${window}", text)
    text = re.sub(r"\$\{?__rate_interval\}?|\$\{?__interval\}?", "${rate_interval}", text)
    blank = _placeholder(text)

    def matcher(found: re.Match[str]) -> str:
        if not _VARIABLE.search(found["value"]):
            return found[0]
        label = found["label"]
        return f'{label}=~"${{{label}}}"' if label == blank and _alone(found) else f'{label}=~".*"'

    text = _MATCHER.sub(matcher, text)
    text = _VARIABLE.sub(lambda m: _value(m, variables), text)
    if "$" in _TOKEN.sub("", text.replace("${rate_interval}", "").replace("${window}", "")):
        raise UnusableError("has a variable that is not read")
    return text, ((blank, LABEL_KIND + blank),) if blank else ()


def _placeholder(text: str) -> str:
    """The label whose variable becomes the placeholder, the first of ``COMPONENT_LABELS`` that fits; "" where none does."""
    compared = {m["label"] for m in _MATCHER.finditer(text) if _alone(m)}
    return next((label for label in COMPONENT_LABELS if label in compared and _survives(text, label)), "")


def _alone(matcher: re.Match[str]) -> bool:
    """Whether a matcher compares its label with one variable."""
    return matcher["op"] in ("=", "=~") and _VARIABLE.fullmatch(matcher["value"]) is not None


def everywhere(body: str, rate_interval_s: float) -> str:
    """The body with every placeholder of a label standing for any value."""
    text = re.sub(r'=~"\$\{\w+\}"', '=~".+"', body)
    return text.replace("${rate_interval}", f"{rate_interval_s:g}s")


def entity_of(label: str, component: str) -> Entity:
    """What a placeholder of a label is bound to."""
    return Entity(LABEL_KIND + label, component)


def _value(found: re.Match[str], variables: Mapping[str, str]) -> str:
    name = found[1] or found[2] or found[3]
    if name in ("rate_interval", "window", *COMPONENT_LABELS) and found[1]:
        return found[0]
    if name in _INTERVALS:
        return "${rate_interval}"
    value = variables.get(name, "")
    if _DURATION.fullmatch(value) or re.fullmatch(r"[\w.:-]+", value):
        return value
    raise UnusableError(f"uses the variable {name}, which has no value")


def _survives(text: str, label: str) -> bool:
    """Whether the series of the result still have a label."""
    plain = _TOKEN.sub("", text)
    clauses = [(m[1], m[2]) for m in _AGGREGATION.finditer(plain) if m[1]] + [(m[1], m[2]) for m in _AFTER.finditer(plain)]
    words = len(
        re.findall(r"\b(?:sum|avg|min|max|count|stddev|stdvar|group|quantile|count_values)\s*(?:\(|by\b|without\b)", plain)
    )
    if words > len(clauses):
        return False
    return all((label in _names(inside)) == (word.lower() == "by") for word, inside in clauses)


def _names(inside: str) -> set[str]:
    return {part.strip() for part in inside.split(",")}
