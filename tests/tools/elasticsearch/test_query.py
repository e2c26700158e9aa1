"""Searches of logs: which are let through, and how they are said in ES|QL."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from revelio.tools.elasticsearch.query import CLAUSES, esql, refusal, text
from revelio.tools.placeholders import Tree, tree
from tests.tools.conftest import SCOPE, filled, hostile

STRING = re.compile(r'"(?:\\[\\"nrt]|[^\\"\n\r])*"')
WORDS = {"FROM", "WHERE", "SORT", "DESC", "LIMIT", "AND", "OR", "NOT", "IN", "IS", "NULL", "MATCH", "MATCH_PHRASE", "STARTS_WITH"}
"""All of ES|QL that is ever written."""


def said(query: Tree) -> str | None:
    whole = esql(query, "logs-shop")
    return None if whole is None else whole.removeprefix("FROM logs-shop").removesuffix(" | SORT @timestamp DESC | LIMIT 500")


@pytest.mark.parametrize(
    ("query", "where"),
    [
        ({"match_all": {}}, ""),
        ({"term": {"service.name": "cart"}}, ' | WHERE service.name == "cart"'),
        ({"term": {"a": {"value": 3}}}, " | WHERE a == 3"),
        ({"terms": {"a": ["x", True]}}, ' | WHERE a IN ("x", TRUE)'),
        ({"exists": {"field": "trace.id"}}, " | WHERE trace.id IS NOT NULL"),
        ({"range": {"a": {"gte": 1, "lt": 2.5}}}, " | WHERE a >= 1 AND a < 2.5"),
        ({"match": {"message": "lost it"}}, ' | WHERE MATCH(message, "lost it")'),
        ({"match_phrase": {"message": "lost"}}, ' | WHERE MATCH_PHRASE(message, "lost")'),
        ({"prefix": {"message": "lost"}}, ' | WHERE STARTS_WITH(message, "lost")'),
        ({"term": {"a b": 1}}, " | WHERE `a b` == 1"),
        ({"term": {"a.`b": 1}}, " | WHERE `a`.```b` == 1"),
        (
            {
                "bool": {
                    "filter": {"term": {"a": 1}},
                    "should": [{"term": {"b": 2}}, {"term": {"c": 3}}],
                    "minimum_should_match": 1,
                }
            },
            " | WHERE a == 1 AND (b == 2 OR c == 3)",
        ),
        ({"bool": {"must_not": [{"term": {"a": 1}}]}}, " | WHERE NOT (a == 1)"),
        ({"bool": {"filter": [{"term": {"a": 1}}], "should": [{"term": {"b": 2}}]}}, " | WHERE a == 1"),
        ({"bool": {}}, ""),
        ({"bool": {"should": [{"term": {"b": 2}}] * 3, "minimum_should_match": 2}}, None),
        ({"match": {"message": {"query": "a", "operator": "and"}}}, None),
        ({"wildcard": {"a": "b*"}}, None),
        ({"terms": {"a": []}}, None),
    ],
)
def test_a_search_is_said_in_esql_or_not_at_all(query: Tree, where: str | None) -> None:
    assert said(query) == where


def test_an_index_that_is_no_plain_name_is_quoted() -> None:
    assert (esql({"match_all": {}}, 'logs-"a | DROP x') or "").startswith('FROM "logs-\\"a | DROP x" | SORT')


@given(hostile())
def test_no_name_ends_its_string_in_esql(name: str) -> None:
    assert STRING.fullmatch(text(name))


@given(hostile())
def test_whatever_the_names_no_other_word_of_esql_is_ever_written(name: str) -> None:
    for query in filled("elasticsearch", name):
        whole = esql(tree(query, SCOPE)["query"], f"logs-{name}")
        assert whole is not None
        assert set(re.findall(r"\b[A-Z_]{2,}\b", STRING.sub("", whole))) <= WORDS


@given(st.text(min_size=1, max_size=20).filter(lambda name: name not in CLAUSES))
def test_a_clause_that_is_not_listed_is_refused_at_any_depth(name: str) -> None:
    inner: Tree = {name: {}}
    deeper: list[Tree] = [inner, {"bool": {"must_not": inner}}, {"constant_score": {"filter": {"dis_max": {"queries": [inner]}}}}]
    for query in deeper:
        assert "which is not searched with" in (refusal(query) or "")


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("all", "made of mappings"),
        ({"term": {"a": 1}, "match": {"b": 2}}, "one clause each"),
        ({"nested": {"path": "a", "query": {"script": {}}}}, "'script'"),
        ({"nested": {"path": "a", "query": {"match_all": {}}, "inner_hits": {"script_fields": {}}}}, "holds a script"),
    ],
)
def test_what_is_refused_says_why(query: Tree, why: str) -> None:
    assert why in (refusal(query) or "")


def test_a_search_that_is_nested_without_end_is_refused() -> None:
    query: Tree = {"match_all": {}}
    for _ in range(30):
        query = {"bool": {"filter": query}}
    assert "levels deep" in (refusal(query) or "")


def test_every_bundled_search_is_let_through() -> None:
    assert [refusal(tree(q, SCOPE).get("query")) for q in filled("elasticsearch", "cart")] == [None] * len(
        filled("elasticsearch", "a")
    )
