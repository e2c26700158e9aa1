"""Incidents with the same evidence are near, whatever their components and reports are called."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from revelio.encoders.report import HashingEncoder
from revelio.retrieval import IncidentVectors
from revelio.types import Entity, Evidence, Incident, Recommendation, Series, StateChange, Window

VECTORS = IncidentVectors(HashingEncoder(), {})


def answer(report: str, metric: str, component: str, change: str = "") -> Recommendation:
    times = tuple(float(t) for t in range(60))
    values = tuple(1.0 + 0.01 * (t % 3) if t < 40 else 9.0 for t in range(60))
    place = Entity("container", component)
    changes = (StateChange(place, 41.0, "image", "a", change),) if change else ()
    evidence = Evidence(
        Window(40.0, 60.0), Window(0.0, 40.0), (place,), (Series(place, metric, "", times, values),), changes=changes
    )
    return Recommendation(Incident("i", "shop", report, 60.0, evidence), (), 0.1, "model")


def cosine(one: Recommendation, other: Recommendation) -> float:
    return float(VECTORS.vector(one) @ VECTORS.vector(other))


def test_vectors_are_of_length_one_and_of_the_told_dimension() -> None:
    vector = VECTORS.vector(answer("slow", "cpu", "cart"))
    assert vector.shape == (VECTORS.dimension,)
    assert np.linalg.norm(vector) == np.float32(1.0)


def test_evidence_counts_for_more_than_the_words_of_the_report() -> None:
    asked = answer("the cart is slow", "cpu", "cart")
    same_cause, same_words = answer("orders fail", "cpu", "orders"), answer("the cart is slow", "memory", "cart")
    assert cosine(asked, same_cause) > cosine(asked, same_words)


def test_what_changed_tells_causes_apart_whose_figures_are_alike() -> None:
    asked = answer("slow", "cpu", "cart", "deployed new version")
    same, other = answer("slow", "cpu", "orders", "deployed new version"), answer("slow", "cpu", "orders", "exited killed")
    assert cosine(asked, same) > cosine(asked, other)


def test_without_evidence_the_report_decides_and_without_anything_nothing_is_near() -> None:
    nothing = Evidence(Window(40.0, 60.0), Window(0.0, 40.0))
    silent = [
        replace(a, incident=replace(a.incident, evidence=nothing)) for a in (answer(r, "x", "y") for r in ("slow cart", ""))
    ]
    said, empty = silent
    assert cosine(said, said) > 0.99
    assert cosine(empty, said) == 0.0
