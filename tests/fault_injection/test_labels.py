"""Labels are expanded over the fault's place and the calls into it, and only to queries that can be asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from fault_injection.kinds import kinds
from fault_injection.labels import Accepted, Call, accepted_queries, load_labels
from fault_injection.spec import HARMLESS
from revelio.catalog import bundled_catalog
from revelio.errors import InvalidInputError
from revelio.types import Blank, Query, QueryTemplate

ERRORS = QueryTemplate("log_errors", "es", "t", "s", "b", (Blank("service", "service"),))
EDGE = QueryTemplate("edge_errors", "prom", "t", "s", "b", (Blank("service", "service"), Blank("peer", "service")))
OPERATION = QueryTemplate("slow_op", "jaeger", "t", "s", "b", (Blank("operation", "operation"),))
CALLS = (Call("gateway", "cart"), Call("orders", "cart"), Call("cart", "redis"))


def query(template: QueryTemplate, **bindings: str) -> Query:
    return Query(template, tuple(sorted(bindings.items())))


CANDIDATES = (
    query(ERRORS, service="cart"),
    query(ERRORS, service="gateway"),
    query(EDGE, service="gateway", peer="cart"),
    query(EDGE, service="orders", peer="cart"),
    query(EDGE, service="gateway", peer="orders"),
    query(OPERATION, operation="cart: GET /cart"),
    query(OPERATION, operation="gateway: GET /cart"),
    query(OPERATION, operation="payment: POST /pay"),
)


def test_the_place_and_its_callers_fill_the_blanks() -> None:
    entries = [
        Accepted(template="log_errors", grade=3, blanks={"service": "place"}),
        Accepted(template="edge_errors", grade=2, blanks={"service": "callers", "peer": "place"}),
    ]
    assert accepted_queries(entries, "cart", CANDIDATES, CALLS) == {CANDIDATES[0]: 3, CANDIDATES[2]: 2, CANDIDATES[3]: 2}


def test_operations_belong_to_their_service() -> None:
    entries = [
        Accepted(template="slow_op", grade=3, blanks={"operation": "place operations"}),
        Accepted(template="slow_op", grade=1, blanks={"operation": "caller operations"}),
    ]
    assert accepted_queries(entries, "cart", CANDIDATES, CALLS) == {CANDIDATES[5]: 3, CANDIDATES[6]: 1}


def test_a_table_is_found_in_the_database_that_holds_it() -> None:
    scans = QueryTemplate("scans", "pg", "t", "s", "b", (Blank("table", "table"),))
    votes, users = query(scans, table="postgres: votes"), query(scans, table="postgres: users")
    entries = [Accepted(template="scans", grade=3, blanks={"table": "place table"})]
    assert accepted_queries(entries, "votes", (votes, users), CALLS) == {votes: 3}


def test_the_best_grade_wins_where_two_entries_accept_a_query() -> None:
    entries = [
        Accepted(template="log_errors", grade=1, blanks={}),
        Accepted(template="log_errors", grade=3, blanks={"service": "place"}),
    ]
    assert accepted_queries(entries, "cart", CANDIDATES, CALLS) == {CANDIDATES[0]: 3, CANDIDATES[1]: 1}


def test_the_callers_of_somebody_else_than_the_place_can_be_named() -> None:
    entry = Accepted(template="log_errors", grade=1, blanks={"service": "callers of redis"})
    assert accepted_queries([entry], "carts_table", CANDIDATES, CALLS) == {CANDIDATES[0]: 1}


def test_a_literal_value_and_a_list_of_places_narrow_an_entry() -> None:
    literal = Accepted(template="log_errors", grade=2, blanks={"service": "=gateway"})
    assert accepted_queries([literal], "cart", CANDIDATES, CALLS) == {CANDIDATES[1]: 2}
    elsewhere = Accepted(template="log_errors", grade=2, blanks={"service": "place"}, at=("redis",))
    assert accepted_queries([elsewhere], "cart", CANDIDATES, CALLS) == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cpu_quota: [{template: x, grade: 3, blanks: {service: owner}}]", "'owner' is none of place, callers"),
        ("cpu_quota: [{template: x, grade: 4}]", r"cpu_quota\.0\.grade"),
        ("cpu_quota: [{template: x, grade: 3, blank: {}}]", r"blank: Extra inputs"),
    ],
)
def test_a_wrong_file_is_refused_by_name(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "labels.yaml"
    path.write_text(text)
    with pytest.raises(InvalidInputError, match=message):
        load_labels(path)


def test_every_template_and_blank_in_the_bundled_labels_is_in_the_catalog() -> None:
    catalog = bundled_catalog()
    for kind, entries in load_labels().items():
        for entry in entries:
            template = catalog.template(entry.template)
            unknown = set(entry.blanks) - {b.name for b in template.blanks}
            assert not unknown, f"{kind}: {entry.template} has no blank {unknown}"


def test_every_real_fault_kind_has_answers_that_show_its_cause() -> None:
    labels = load_labels()
    for kind in kinds():
        if kind.category in HARMLESS:
            assert kind.name not in labels
        else:
            assert any(entry.grade == 3 for entry in labels[kind.name]), kind.name
    assert set(labels) <= {k.name for k in kinds()}
