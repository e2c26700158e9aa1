"""One component, many names: which component a label's value speaks of, and which values speak of a component.

A deployment's pods, a service's containers and a server's address with a port are names of one thing. Each kind of name has
a rule; a table of overrides comes before them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

Kind = Literal["pod", "address", "container", "job", "process"]

_HASH = "[bcdf-hj-np-tv-xz2456789]"
"""The letters of which Kubernetes makes the ends of pods' names."""

_SUFFIX = {
    "pod": rf"((-{_HASH}{{6,10}})?-{_HASH}{{5}}|-[0-9]+)",
    "address": r"(\.[a-z0-9-]+\.svc(\.[a-z0-9.-]+)?)?(:[0-9]+)?",
    "container": r"([-_][0-9]+)?",
    "job": "",
    "process": r"(: .*)?",
}
_PREFIX = {"pod": "", "address": "", "container": "", "job": "(.*/)?", "process": ""}

KIND_OF_LABEL: Mapping[str, Kind] = {
    "pod": "pod",
    "pod_name": "pod",
    "kubernetes_pod_name": "pod",
    "instance": "address",
    "server_address": "address",
    "net_peer_name": "address",
    "name": "container",
    "job": "job",
    "exported_job": "job",
    "groupname": "process",
}
"""Labels whose values are more than a component's own name."""

NAMES = frozenset(
    {
        *("service", "service_name", "app", "container", "name", "workload", "deployment", "component"),
        *("container_label_com_docker_compose_service", "compose_service", "k8s_deployment_name", "k8s_container_name"),
    }
)
"""Labels whose values are names that people gave to components."""


@dataclass(frozen=True, slots=True)
class Naming:
    """How the values of one label name components: by a kind of name, and for containers behind a project's ``prefix``."""

    label: str
    kind: Kind
    prefix: str = ""

    def component(self, value: str) -> str:
        """The component that a value speaks of; the value itself where it has no other form."""
        found = re.fullmatch(f"{self._before}(?P<component>.+?){_SUFFIX[self.kind]}", value)
        return found["component"] if found else value

    def pattern(self, component: str) -> str:
        """The regular expression of values that speak of a component; ``component`` is escaped already, or a placeholder."""
        suffix = _SUFFIX[self.kind]
        return f"{self._before}{component}{suffix + '?' if self.kind == 'pod' else suffix}"

    @property
    def _before(self) -> str:
        return f"({re.escape(self.prefix)}[-_])?" if self.prefix else _PREFIX[self.kind]


@dataclass(frozen=True, slots=True)
class Identity:
    """The names of one system's components. ``same`` are pairs of another name and the component that it means.

    ``also`` are such pairs by which nothing is called here, but elsewhere.
    """

    namings: tuple[Naming, ...] = ()
    same: tuple[tuple[str, str], ...] = ()
    also: tuple[tuple[str, str], ...] = ()

    def component(self, label: str, value: str) -> str:
        """The component that a label's value speaks of."""
        known = dict(self.same)
        if value in known:
            return known[value]
        naming = self.naming(label)
        name = naming.component(value) if naming else value
        return known.get(name, name)

    def others(self, component: str) -> tuple[str, ...]:
        """The other names that the table gives a component."""
        return tuple(name for name, meant in self.same if meant == component)

    def naming(self, label: str) -> Naming | None:
        """The rule of that label; None where values are components' names."""
        return next((n for n in self.namings if n.label == label), None)


def naming_of(label: str, values: Iterable[str]) -> Naming | None:
    """The rule that a label needs, by the values it has; None where each names its component already."""
    there = sorted({v for v in values if v})
    kind = KIND_OF_LABEL.get(label)
    if kind is None or not there:
        return None
    rule = Naming(label, kind, _project(there) if kind == "container" else "")
    names = [rule.component(value) for value in there]
    if kind == "address" and len(set(names)) < len(names):  # servers that their port tells apart
        return None
    return rule if names != there else None


def pairs_of(rows: Iterable[Mapping[str, str]], chosen: str, others: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Another name and the component that it alone means, of series that carry both in different labels."""
    found: set[tuple[str, str]] = set()
    for labels in rows:
        if component := labels.get(chosen):
            found |= {(name, component) for other in others if (name := labels.get(other)) and name != component}
    names, components = Counter(name for name, _ in found), {component for _, component in found}
    return tuple(sorted(pair for pair in found if names[pair[0]] == 1 and pair[0] not in components))


def _project(values: list[str]) -> str:
    """The project that Compose puts before the name of each of its containers; "" where they share none."""
    if len(values) < 2:
        return ""
    first = {re.split(r"[-_]", value, maxsplit=1)[0] for value in values}
    return first.pop() if len(first) == 1 and all(re.search(r"[-_]", value) for value in values) else ""
