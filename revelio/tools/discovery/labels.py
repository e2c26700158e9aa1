"""Which labels narrow a Prometheus to one system, and which name its components."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from revelio.catalog.conventions import Convention, Label, signals

SYSTEM_LABELS = (
    "project",
    "system",
    "namespace",
    "exported_namespace",
    "kubernetes_namespace",
    "k8s_namespace_name",
    "container_label_com_docker_compose_project",
    "environment",
    "env",
    "deployment_environment",
    "cluster",
    "tenant",
)
"""Labels that may tell two systems of one Prometheus apart, best first."""

_ENOUGH = 0.9
"""The share of series that has to carry a label for it to name components."""

Row = tuple[Mapping[str, str], float]


@dataclass(frozen=True, slots=True)
class Rows:
    """How many series have which labels."""

    rows: Sequence[Row]

    @property
    def total(self) -> float:
        """The number of series."""
        return sum(count for _, count in self.rows)

    def share(self, label: str) -> float:
        """The share of series that carry a label."""
        return sum(count for labels, count in self.rows if labels.get(label)) / self.total if self.rows else 0.0

    def values(self, label: str) -> tuple[str, ...]:
        """The different values of a label."""
        return tuple(sorted({labels[label] for labels, _ in self.rows if labels.get(label)}))


@dataclass(frozen=True, slots=True)
class Census:
    """By convention, its rows."""

    by_convention: Mapping[str, Sequence[Row]]

    def __iter__(self) -> Iterator[tuple[str, Rows]]:
        """Each convention that has series."""
        return ((name, Rows(rows)) for name, rows in self.by_convention.items())


@dataclass(frozen=True, slots=True)
class Narrowed:
    """What keeps other systems' series out: a label and the value of this one, where conventions carry it."""

    label: str
    value: str
    selector: str
    carriers: frozenset[str]
    notes: tuple[str, ...] = ()

    @property
    def everywhere(self) -> str:
        """Matchers that hold for every series."""
        return self.selector

    def matchers(self, convention: str) -> str:
        """The matchers of a convention's series."""
        own = f"{self.label}={json.dumps(self.value, ensure_ascii=False)}" if convention in self.carriers else ""
        return ",".join(m for m in (self.selector, own) if m)

    def rows(self, convention: str, census: Census) -> Rows:
        """The rows of a convention that belong to this system."""
        rows = census.by_convention.get(convention, ())
        if convention not in self.carriers:
            return Rows(rows)
        return Rows([row for row in rows if row[0].get(self.label) == self.value])


def narrow(census: Census, project: str, selector: str, known: Mapping[str, Convention]) -> Narrowed:
    """The label whose value is the project's name; with a note where there are several systems and none is named."""
    for label in SYSTEM_LABELS:
        if any(project in rows.values(label) for _, rows in census):
            carriers = frozenset(name for name, rows in census if rows.values(label))
            others = sorted({value for _, rows in census for value in rows.values(label)} - {project})
            loose = [name for name, _ in census if name not in carriers] if others else []
            return Narrowed(label, project, selector, carriers, _shared(label, others, loose, known))
    notes = []
    if not selector:
        for label in SYSTEM_LABELS:
            there = sorted({value for name, rows in census if name in _OF_APPLICATIONS for value in rows.values(label)})
            if len(there) > 1 and label not in ("cluster", "tenant"):
                named = ", ".join(there[:5]) + (", ..." if len(there) > 5 else "")
                notes.append(f"several systems share this Prometheus: {label} is {named}; set project to the one that is meant")
                break
    return Narrowed("", "", selector, frozenset(), tuple(notes))


def _shared(label: str, others: Sequence[str], loose: Sequence[str], known: Mapping[str, Convention]) -> tuple[str, ...]:
    """A sentence on conventions that other systems follow too and that carry no label which tells them apart.

    Hosts have none: systems share them.
    """
    kinds = {name: {signals()[rule.signal].entity for rule in known[name].rules} for name in loose}
    titles = [known[name].title for name in loose if "host" not in kinds[name]]
    if not titles:
        return ()
    told = f"{', '.join(titles)}: their series carry no {label}, so those of {others[0]} may be among them"
    return (f"{told}; give them that label, or set profile.selector",)


_OF_APPLICATIONS = frozenset(
    {
        "opentelemetry-http",
        "opentelemetry-http-older",
        "micrometer",
        "http-histogram",
        "span-metrics",
        "cadvisor",
        "flask",
        "django",
    }
)


def choose_labels(convention: Convention, rows: Rows, wanted: str) -> tuple[tuple[Label, ...], str]:
    """The labels that name the components of a convention, and what to say where they do so only in part.

    One label where nearly all series carry it; where only some do, the next best names those without it.
    """
    candidates = [*([Label(wanted)] if wanted else ()), *convention.components]
    there = [label for label in candidates if rows.share(label.name)]
    speaking = [label for label in there if not all("exporter" in v for v in rows.values(label.name))] or there
    chosen: list[Label] = []
    left = rows
    for label in speaking:
        if left.share(label.name):
            lacking = ",".join(f'{earlier.name}=""' for earlier in chosen)
            chosen.append(Label(label.name, ",".join(m for m in (label.only, lacking) if m)))
            left = Rows([row for row in left.rows if not row[0].get(label.name)])
        if left.total <= (1 - _ENOUGH) * rows.total:
            break
    if (
        len(chosen) == 1
        and convention.exporter
        and chosen[0].name in ("service", "app", "job")
        and _crowded(rows, chosen[0].name)
    ):
        return (Label("instance"),), ""
    lost = left.total / rows.total if rows.total else 0.0
    if not chosen or lost <= 1 - _ENOUGH:
        return tuple(chosen), ""
    names = " and ".join(label.name for label in chosen)
    return tuple(chosen), f"{convention.title}: the label {names} is missing on {lost:.0%} of the series; those are left out"


def _crowded(rows: Rows, label: str) -> bool:
    """Whether some value of the label stands for several servers."""
    pairs = {(labels.get(label), labels.get("instance")) for labels, _ in rows.rows}
    return len({instance for _, instance in pairs}) > len({value for value, _ in pairs})
