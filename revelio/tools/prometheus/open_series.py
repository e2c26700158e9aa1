"""One metric of one component that no convention covers, by the name of its entity, and as PromQL."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from revelio.catalog.conventions import Profile
from revelio.catalog.conventions.rendering import SEPARATOR, quoted

_COUNTER = re.compile(r".*_(?:total|count|sum)")


@dataclass(frozen=True, slots=True)
class OpenSeries:
    """One metric of one component, as the name of an entity: ``component: metric``."""

    component: str
    metric: str

    @classmethod
    def of(cls, name: str) -> OpenSeries:
        """The series of an entity's name."""
        component, _, metric = name.rpartition(SEPARATOR)
        return cls(component, metric)

    def body(self, profile: Profile, step_s: float) -> str:
        """Its PromQL with placeholders ``component`` and ``metric``: the rate of a counter, else the mean, of all its series."""
        label = label_of(profile)
        naming = profile.identity.naming(label)
        pattern = naming.pattern("${component}") if naming else "${component}"
        matchers = ",".join(m for m in ('__name__="${metric}"', where_of(profile), f'{label}=~"{quoted(pattern)}"') if m)
        selector = f"{{{matchers}}}"
        if is_counter(self.metric, profile):
            return f"sum by ({label}) (rate({selector}[{profile.rate_interval_s(step_s):g}s]))"
        return f"avg by ({label}) ({selector})"

    @property
    def bindings(self) -> tuple[tuple[str, str], ...]:
        """What the placeholders of its body stand for."""
        return (("component", self.component), ("metric", self.metric))


def label_of(profile: Profile) -> str:
    """The label that names the component of most of what is known there."""
    labels = Counter(use.label for use in profile.uses if use.label)
    return labels.most_common(1)[0][0] if labels else "job"


def where_of(profile: Profile) -> str:
    """The matchers that all of the system's conventions share."""
    every = {use.where for use in profile.uses}
    return every.pop() if len(every) == 1 else ""


def is_counter(metric: str, profile: Profile) -> bool:
    """Whether it only grows, by its name, its type or its past."""
    return _COUNTER.fullmatch(metric) is not None or metric in profile.counters
