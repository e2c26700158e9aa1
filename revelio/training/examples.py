"""Labelled incidents to training examples. Grades come from proven labels only."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from revelio.catalog import Catalog
from revelio.catalog.candidates import candidates, inventory
from revelio.encoders.candidate_index import index_candidates
from revelio.encoders.evidence import Figure, index_evidence
from revelio.encoders.inferred_reads import infer_reads
from revelio.encoders.null_distribution import NullDistributions
from revelio.encoders.query import EncodedIncident, QueryEncoder, with_rarity
from revelio.encoders.report import TextEncoder
from revelio.systems.incidents.dataset import LabelledIncident
from revelio.training.batch import Example
from revelio.training.superpose import Superposed
from revelio.types import QueryTemplate, Reading


def examples(incidents: Iterable[LabelledIncident], catalog: Catalog, text: TextEncoder, encoder: QueryEncoder) -> list[Example]:
    """One example per incident, with an encoding for each of its reports (an empty report if it has none).

    Incidents without candidates are skipped, and so are faulty ones without an accepted query among the candidates.
    """
    found = []
    for labelled in incidents:
        record = labelled.record
        queries = record.candidates or candidates(labelled.catalog or catalog, inventory(record.evidence))
        if not queries:
            continue
        reports = [r.text for r in record.reports] or [""]
        vectors = text.encode(reports)
        encodings = tuple(compact(encoder.encode(record.incident(r), queries, v)) for r, v in zip(reports, vectors, strict=True))
        accepted = labelled.grades
        grades = np.array([accepted.get((q.template.id, q.bindings), 0) for q in queries], dtype=np.float32)
        faulty = bool(record.labels) or (record.fault is not None and record.fault.category != "control")
        if faulty and not grades.any():
            continue
        shown = {(r.template, r.bindings): r.result.signal for r in record.results}
        signals = np.array([shown.get((q.template.id, q.bindings), np.nan) for q in queries], dtype=np.float32)
        found.append(Example(record.id, encodings, grades, faulty, signals, system=record.system))
    return found


def compact(encoded: EncodedIncident) -> EncodedIncident:
    """The same with features in half precision: a training set holds thousands of encodings."""
    return replace(encoded, features=encoded.features.astype(np.float16))


def superposed_examples(pairs: Iterable[Superposed], catalog: Catalog, text: TextEncoder, encoder: QueryEncoder) -> list[Example]:
    """An example of each superposed incident."""
    return [replace(e, parts=pair.parts) for pair in pairs for e in examples([pair.incident], catalog, text, encoder)]


def simulated_examples(
    incidents: Iterable[LabelledIncident], nulls: NullDistributions, catalog: Catalog, text: TextEncoder, encoder: QueryEncoder
) -> list[Example]:
    """An example of each simulated incident; where several faults are in force, the report alone tells which is meant."""
    found = []
    for labelled in incidents:
        others = tuple(f"{labelled.record.id}/{number}" for number, _ in enumerate(labelled.record.noise))
        for e in examples([labelled], catalog, text, encoder):
            encodings = tuple(with_rarity(x, nulls) for x in e.encodings)
            found.append(replace(e, encodings=encodings, parts=(e.id, *others) if others else ()))
    return found


def learn_reads(incidents: Iterable[LabelledIncident], catalog: Catalog, text: TextEncoder) -> dict[str, tuple[Reading, ...]]:
    """Infer the reads of templates that declare none, from the figures of all incidents at the entities they are bound to."""
    without_reads: dict[str, QueryTemplate] = {}
    there: dict[str, dict[Figure, None]] = {}
    for labelled in incidents:
        record = labelled.record
        undeclared = index_candidates(
            record.candidates or candidates(labelled.catalog or catalog, inventory(record.evidence))
        ).undeclared()
        view = index_evidence(record.evidence) if undeclared else None
        for template, names in undeclared:
            without_reads[template.id] = template
            there.setdefault(template.id, {}).update(dict.fromkeys(view.figures_of(names) if view else ()))
    found = infer_reads(list(without_reads.values()), [tuple(there[t]) for t in without_reads], text)
    return {template: reads for template, reads in found.items() if reads}
