"""A simulated incident as text, for people to judge whether it could be real."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from revelio.catalog import bundled_catalog
from revelio.encoders.items import NUMBERS, items
from revelio.systems.incidents.dataset import LabelledIncident

_MOST = 25


def shown(labelled: LabelledIncident) -> Iterator[str]:
    """The report, what deviates most, and the right answers, line by line."""
    record = labelled.record
    seen, fault = record.evidence, record.fault
    kinds: dict[str, list[str]] = {}
    for entity in seen.entities:
        kinds.setdefault(entity.kind, []).append(entity.name)
    yield f"{record.id}: {len(kinds.get('container', kinds.get('service', ())))} components"
    yield f"  report: {record.reports[0].text}"
    if fault is not None:
        yield f"  cause: {fault.kind} at {fault.place or '-'}" + "".join(f"; also {n.kind} at {n.place}" for n in record.noise)
    yield f"  seen of {', '.join(f'{len(names)} {kind}s' for kind, names in sorted(kinds.items()))}"
    yield f"  window {seen.window.seconds:g} s, baseline {seen.baseline.seconds:g} s, sources {seen.sources or 'of the testbed'}"
    yield f"  calls: {', '.join(kinds.get('edge', ())[:12])}"
    found = items(seen, {m.name: m.noise_floor for tool in bundled_catalog().tools for m in tool.metrics})
    size = np.expm1(3.0 * np.maximum(found.numbers[:, 0], found.numbers[:, 1]))
    yield f"  {len(found.words)} items deviate, {int((size >= 4).sum())} of them by 4 sigma; the furthest:"
    for place in np.argsort(-size, kind="stable")[:_MOST]:
        way = "+" if found.numbers[place, 0] >= found.numbers[place, 1] else "-"
        onset = found.numbers[place, NUMBERS.index("onset")]
        yield f"    {way}{size[place]:7.1f} at {onset:.1f}  {found.entity[place]} | {found.words[place][:110]}"
    good = {(x.template, x.bindings): x.grade for x in record.labels}
    yield f"  {len(record.candidates)} candidates; right answers:"
    for query in sorted(record.candidates, key=lambda q: -good.get((q.template.id, q.bindings), 0))[:_MOST]:
        if grade := good.get((query.template.id, query.bindings), 0):
            yield f"    {grade}  {query.template.tool}: {query.title}"
