"""How a system uses the conventions that it follows, and by which names its components go in them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from revelio.catalog.conventions import Convention, Rule, Use
from revelio.catalog.identity import KIND_OF_LABEL, NAMES, Identity, Naming, naming_of, pairs_of
from revelio.settings.profile import ProfileSettings
from revelio.tools.discovery.labels import Census, Narrowed, Rows, choose_labels


@dataclass(slots=True)
class Uses:
    """The uses of conventions. ``values`` are those of each label that names components, ``pairs`` other names of components.

    ``by_exporters`` are conventions that exporters alone follow, and ``notes`` say what is named in part only.
    """

    uses: list[Use] = field(default_factory=list)
    values: dict[str, set[str]] = field(default_factory=dict)
    pairs: set[tuple[str, str]] = field(default_factory=set)
    by_exporters: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)

    def identity(self, rules: Mapping[str, tuple[Rule, ...]], settings: ProfileSettings) -> Identity:
        """The rules of names, with the pairs that labels on one series tell; those of the settings come first."""
        peers = {x for use in self.uses for r in rules[use.convention] for x in r.labels if x in KIND_OF_LABEL}
        namings = [n for label, values in self.values.items() if (n := naming_of(label, values))]
        namings += [Naming(label, KIND_OF_LABEL[label]) for label in sorted(peers - self.values.keys())]
        there = {value for values in self.values.values() for value in values}
        derived = {(name, component) for name, component in self.pairs if any(n.component(name) == component for n in namings)}
        same = {name: component for name, component in self.pairs - derived if name in there}
        return Identity(tuple(namings), tuple(sorted({**same, **settings.names}.items())), tuple(sorted(self.pairs)))


def uses_of(
    rules: Mapping[str, tuple[Rule, ...]],
    known: Mapping[str, Convention],
    census: Census,
    where: Narrowed,
    exporters: Collection[str],
    settings: ProfileSettings,
) -> Uses:
    """By the rules of each convention whose metrics are there, and its series; ``exporters`` are jobs that speak of others."""
    found = Uses()
    for name, there in rules.items():
        convention, rows = known[name], where.rows(name, census)
        if convention.of_process and rows.rows and _jobs(rows) <= set(exporters):
            found.by_exporters.add(name)
            continue
        labels, why = choose_labels(convention, rows, settings.component)
        found.notes += [why] if why else []
        if labels and labels[0].name in NAMES:
            names = [c.name for c in convention.components if c.name in NAMES]
            found.pairs |= set(pairs_of([of for of, _ in rows.rows], labels[0].name, names))
        watched = [f'job!~"{"|".join(exporters)}"'] if convention.of_process and exporters else []
        for label in labels:
            only = ",".join(([label.only] if label.only else []) + watched)
            found.uses.append(Use(name, label.name, tuple(r.id for r in there), where.matchers(name), only))
            found.values.setdefault(label.name, set()).update(rows.values(label.name))
    return found


def _jobs(rows: Rows) -> set[str]:
    return {labels.get("job", "").replace("|", ".") for labels, _ in rows.rows}
