"""Signals as PromQL: the pattern of a convention, filled with what a profile knows of the system."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import yaml

from revelio.catalog.conventions.loader import conventions
from revelio.catalog.conventions.model import Rule
from revelio.catalog.conventions.profile import Profile, Use, recorded_profile
from revelio.errors import SourceError
from revelio.support.bounded_yaml import read_yaml

SEPARATOR = ": "
"""Between the parts of a name that several labels make, the component first."""

_BY = re.compile(r" (by|on) \(([^()]*)\) ")


@dataclass(frozen=True, slots=True)
class SignalExpression:
    """What a template asks: signals by the word that tells them apart, a view of them, and the blanks that name the entity."""

    signals: tuple[tuple[str, str], ...]
    blanks: tuple[str, ...]
    view: str = ""
    label: str = ""


@dataclass(frozen=True, slots=True)
class Expression:
    """PromQL with ``${placeholder}`` where values go, and values of placeholders that are no blanks of the template."""

    text: str
    values: tuple[tuple[str, str], ...] = ()


@lru_cache(maxsize=1000)
def asked(body: str) -> SignalExpression | None:
    """A template's body as a question about signals; None where it is PromQL. ``SourceError`` where it is neither."""
    if not body.startswith(("signal:", "signals:")):
        return None
    try:
        parsed = read_yaml(body)
        of = parsed.get("of", [])
        blanks = tuple(str(b)[2:-1] for b in ([of] if isinstance(of, str) else of))
        signals = parsed.get("signals") or {"": parsed["signal"]}
        return SignalExpression(
            tuple((str(k), str(v)) for k, v in signals.items()), blanks, parsed.get("by", ""), parsed.get("label", "")
        )
    except (yaml.YAMLError, LookupError, TypeError, AttributeError, ValueError) as error:
        raise SourceError(
            "prometheus", "a query about signals looks like this: signal: cpu, and below it of: ${service}"
        ) from error


def expression(profile: Profile, question: SignalExpression, bound: dict[str, str], step_s: float = 0.0) -> Expression:
    """The query of a template for the entity that its blanks are ``bound`` to, for points ``step_s`` seconds apart."""
    parts, values = [], {}
    for word, signal in question.signals:
        for use, rule in _rules(profile, signal):
            matchers, extra = _matchers(profile, use, rule, question.blanks, bound)
            values.update(extra)
            text = _filled(rule.pattern(question.view), (), matchers, use, profile.rate_interval_s(step_s))
            parts.append(f'label_replace({text}, "{question.label}", "{word}", "", "")' if question.label else text)
    return Expression(" or ".join(parts), tuple(values.items()))


def overview(profile: Profile, use: Use, rule: Rule, step_s: float = 0.0) -> str:
    """The query of all entities at once: its series carry the labels of ``entity_labels``."""
    return _filled(rule.query, entity_labels(use, rule), (), use, profile.rate_interval_s(step_s))


def entity_labels(use: Use, rule: Rule) -> tuple[str, ...]:
    """The labels that make an entity's name."""
    return (use.label, *rule.labels)


def _rules(profile: Profile, signal: str) -> tuple[tuple[Use, Rule], ...]:
    """Those of the system; of a signal that it does not have, those of the first convention that has it."""
    found = profile.rules.get(signal) or recorded_profile().rules.get(signal)
    if found:
        return found
    known = ((c, r) for c in conventions().values() for r in c.rules if r.signal == signal)
    convention, rule = next(known)
    return ((Use(convention.name, convention.components[0].name, (rule.id,)), rule),)


def _matchers(
    profile: Profile, use: Use, rule: Rule, blanks: Sequence[str], bound: dict[str, str]
) -> tuple[tuple[str, ...], dict[str, str]]:
    labels = entity_labels(use, rule)
    values: dict[str, str] = {}
    if len(blanks) == 1 and len(labels) > 1:
        blank = blanks[0]
        parts = bound.get(blank, "").split(SEPARATOR, len(labels) - 1)
        blanks = [f"{blank}_{i}" for i in range(len(labels))]
        values = {name: parts[i] if i < len(parts) else "" for i, name in enumerate(blanks)}
    matchers = []
    for label, blank in zip(labels, blanks, strict=False):
        naming = profile.identity.naming(label)
        others = profile.identity.others((bound | values).get(blank, ""))
        names = {f"{blank}_also_{i}": other for i, other in enumerate(others)}
        values |= names
        hole = "${" + blank + "}"
        if naming is None and not names:
            matchers.append(f'{label}="{hole}"')
            continue
        also = "".join("|${" + name + "}" for name in names)
        pattern = naming.pattern(hole) if naming else hole
        matchers.append(f'{label}=~"{quoted(pattern)}{also}"')
    return tuple(matchers), values


def quoted(pattern: str) -> str:
    """A regular expression as the inside of a PromQL string; placeholders stay."""
    return pattern.replace("\\", "\\\\").replace('"', '\\"')


def _filled(pattern: str, of: Sequence[str], matchers: Sequence[str], use: Use, rate_interval_s: float) -> str:
    scope = [m for m in (use.where, *matchers) if m]
    where = [m for m in (use.where, use.only, *matchers) if m]
    text = " ".join(pattern.split()).replace("${rate_interval}", f"{rate_interval_s:g}s")
    text = _BY.sub(lambda m: _grouping(m[0], m[1], m[2], of), text)
    for name, parts in (("${where}", where), ("${scope}", scope)):
        text = text.replace("{" + name + "}", "{" + ",".join(parts) + "}" if parts else "")
        text = text.replace("{" + name + ",", "{" + "".join(f"{p}," for p in parts))
    return text


def _grouping(whole: str, word: str, inside: str, of: Sequence[str]) -> str:
    """Grouping labels with the entity's own put in; no ``by`` where there are none."""
    if "${of}" not in inside:
        return whole
    labels = [x for part in inside.split(",") for x in (of if part.strip() == "${of}" else [part.strip()])]
    if word == "by" and not labels:
        return ""
    return f" {word} ({', '.join(labels)}) "
