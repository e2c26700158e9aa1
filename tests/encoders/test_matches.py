"""Items of the evidence are matched with candidates by words and by place, whatever they are called."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from revelio.encoders.candidate_index import index_candidates
from revelio.encoders.items import MOST, NUMBERS, items
from revelio.encoders.query import FEATURES, QueryEncoder
from revelio.encoders.static_words import HashingWords
from revelio.types import (
    Blank,
    Entity,
    Evidence,
    Incident,
    LogPattern,
    Query,
    QueryTemplate,
    Reading,
    Series,
    StateChange,
    Window,
)

TEXT = HashingWords(64)
WINDOW, BASELINE = Window(100.0, 120.0), Window(0.0, 100.0)
LATENCY = QueryTemplate(
    "t.latency", "t", "Latency of ${node}", "", "latency", (Blank("node", "node"),), (Reading("series", "latency"),)
)
LOGS = QueryTemplate("t.logs", "t", "Log lines of ${node}", "", "logs", (Blank("node", "node"),))
ANYWHERE = QueryTemplate("t.all", "t", "Events anywhere", "", "events")


def series(node: str, rise: float, metric: str = "latency") -> Series:
    times = tuple(float(t) for t in range(0, 120, 5))
    return Series(Entity("node", node), metric, "", times, tuple(1.0 + (rise if t >= 100 else 0.0) for t in times))


def evidence(*found: Series, logs: Sequence[LogPattern] = (), changes: Sequence[StateChange] = ()) -> Evidence:
    nodes = [Entity("node", n) for n in ("a", "b", "c")]
    edges = [Entity("edge", "a->b"), Entity("edge", "b->c")]
    return Evidence(WINDOW, BASELINE, (*nodes, *edges), tuple(found), tuple(logs), (), tuple(changes))


def queries() -> tuple[Query, ...]:
    return (*(Query(t, (("node", n),)) for t in (LATENCY, LOGS) for n in ("a", "b", "c")), Query(ANYWHERE))


def features(seen: Evidence, report: str = "", asked: tuple[Query, ...] | None = None) -> dict[str, np.ndarray]:
    encoder = QueryEncoder(TEXT, {}, {}, words=TEXT)
    found = encoder.encode(Incident("i", "s", report, 0.0, seen), asked or queries(), TEXT.encode([report])[0]).features
    return dict(zip(FEATURES, found.T, strict=True))


def test_what_deviates_is_an_item_with_its_words_and_what_is_calm_is_not() -> None:
    line = LogPattern(Entity("node", "b"), "ERROR", "quota exceeded for <n>", 1, 0, 110.0)
    change = StateChange(Entity("node", "c"), 105.0, "state", "running", "exited with code 137")
    found = items(evidence(series("a", 5.0), series("b", 0.0), logs=[line], changes=[change]))
    assert found.entity == ("a", "b", "c")
    assert ["latency" in found.words[0], "quota exceeded" in found.words[1], "exited with code 137" in found.words[2]] == [
        True
    ] * 3
    numbers = dict(zip(NUMBERS, found.numbers.T, strict=True))
    assert numbers["problem"].tolist() == [0.0, 1.0, 0.0]
    assert numbers["new"].tolist() == [0.0, 1.0, 0.0]
    assert numbers["up"][0] > 0.5


def test_only_the_items_that_deviate_most_are_kept() -> None:
    found = items(evidence(*(series(f"n{i}", 1.0 + i) for i in range(MOST + 20))))
    assert len(found.words) == MOST
    assert "n0" not in found.entity
    assert f"n{MOST + 19}" in found.entity


def test_the_cause_is_above_its_callees_and_its_callers_are_not() -> None:
    found = features(evidence(series("a", 9.0), series("b", 9.0), series("c", 0.0)))
    a, b, c = found["read_above_callees"][:3]
    assert b > 0.5 > abs(a)
    assert c == 0.0


def test_a_report_names_the_template_whose_title_shares_its_rare_words() -> None:
    found = features(evidence(series("a", 9.0)), "the latency has gone up")
    assert found["named"].tolist() == [1, 1, 1, 0, 0, 0, 0]
    assert features(evidence(series("a", 9.0)))["named"].sum() == 0


def test_items_count_for_their_place_and_for_those_beside_it() -> None:
    line = LogPattern(Entity("node", "b"), "ERROR", "log lines of a failure", 40, 0, 110.0)
    found = features(evidence(logs=[line]))
    assert found["component_new_log"][3:6].argmax() == 1
    assert found["callees_new_log"][3] > 0 == found["callees_new_log"][5]
    assert found["callers_new_log"][5] > 0 == found["callers_new_log"][3]
    assert found["component_new_log"][6] > 0, "a query about no place sees everything"
    assert found["words_component"][4] > found["words_component"][1], "the words of the line are those of the log query"


def test_no_feature_depends_on_names_of_components_or_on_the_order_of_candidates() -> None:
    seen = evidence(series("a", 9.0), series("b", 4.0))
    there, back = features(seen), features(seen, asked=queries()[::-1])
    for name, values in there.items():
        if "similarity" not in name:
            np.testing.assert_allclose(values, back[name][::-1], atol=1e-6, err_msg=name)


def test_an_incident_without_evidence_has_finite_features() -> None:
    found = features(Evidence(WINDOW, BASELINE))
    assert all(np.isfinite(values).all() for values in found.values())
    assert index_candidates(queries()).target_of.tolist() == [0, 1, 2, 0, 1, 2, 3]
