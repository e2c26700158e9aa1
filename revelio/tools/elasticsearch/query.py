"""Elasticsearch's query language, as far as logs are searched with it: which clauses are let through, and the same in ES|QL."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from revelio.tools.links import encodable
from revelio.tools.placeholders import Tree

CLAUSES = frozenset(
    {
        *("bool", "constant_score", "dis_max", "nested"),
        *("term", "terms", "range", "exists", "prefix", "wildcard", "fuzzy", "ids", "match_all", "match_none"),
        *("match", "match_phrase", "match_phrase_prefix", "match_bool_prefix", "multi_match", "simple_query_string"),
    }
)
"""What a search may be made of. Not among them: scripts, wrapped queries, and clauses that look into other indices."""

_INNER = {
    "bool": ("filter", "must", "should", "must_not"),
    "constant_score": ("filter",),
    "dis_max": ("queries",),
    "nested": ("query",),
}
_MAX_DEPTH = 20

_PLAIN_FIELD = re.compile(r"@?[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")
_PLAIN_INDEX = re.compile(r"[a-z0-9][a-z0-9._-]*")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}


class UnsaidError(Exception):
    """There is no ES|QL for this clause here."""


def refusal(query: Tree, depth: int = 0) -> str | None:
    """Why a search is not let through, in words that follow "the query"; None when it is."""
    if depth > _MAX_DEPTH:
        return f"is nested more than {_MAX_DEPTH} levels deep"
    if not isinstance(query, dict) or len(query) != 1:
        return "has to be made of mappings with one clause each, in Elasticsearch's query language"
    [(name, body)] = query.items()
    if name not in CLAUSES:
        return f"uses {name!r}, which is not searched with; there are: {', '.join(sorted(CLAUSES))}"
    if name == "terms" and isinstance(body, dict) and any(isinstance(v, dict) for v in body.values()):
        return "looks up terms in another index; write them as a list"
    inner = (part for key in _INNER.get(name, ()) for part in _listed(body.get(key) if isinstance(body, dict) else None))
    why = next((why for part in inner if (why := refusal(part, depth + 1))), None)
    return why or ("holds a script" if _scripted(body) else None)


def esql(query: Tree, index: str) -> str | None:
    """The newest lines that the search finds, in ES|QL (8.19 or later); None where it cannot be said in a few clauses."""
    try:
        said = _condition(query)
    except (UnsaidError, KeyError, TypeError, ValueError):
        return None
    source = index if _PLAIN_INDEX.fullmatch(index) else text(index)
    where = "" if said == "TRUE" else f" | WHERE {said}"
    return f"FROM {source}{where} | SORT @timestamp DESC | LIMIT 500"


def text(value: str) -> str:
    """A string of ES|QL."""
    return '"' + "".join(_ESCAPES.get(c, c) for c in encodable(value)) + '"'


def _scripted(node: Tree) -> bool:
    if isinstance(node, dict):
        return any("script" in key or _scripted(value) for key, value in node.items())
    return isinstance(node, list) and any(_scripted(item) for item in node)


def _condition(query: Tree) -> str:
    if not isinstance(query, dict) or len(query) != 1:
        raise UnsaidError
    [(name, body)] = query.items()
    if name == "match_all":
        return "TRUE"
    if name == "bool":
        return _bool(body)
    if not isinstance(body, dict) or len(body) != 1 or name not in _SAID:
        raise UnsaidError
    [(key, value)] = body.items()
    return _SAID[name](key, value)


def _bool(body: Tree) -> str:
    if not isinstance(body, dict) or not body.keys() <= {"filter", "must", "should", "must_not", "minimum_should_match"}:
        raise UnsaidError
    needed = [_condition(part) for key in ("filter", "must") for part in _listed(body.get(key))]
    needed += [f"NOT ({_condition(part)})" for part in _listed(body.get("must_not"))]
    either = [_condition(part) for part in _listed(body.get("should"))]
    least = body.get("minimum_should_match", 0 if needed else 1)
    if either and least == 1:
        needed.append("(" + " OR ".join(either) + ")")
    elif either and least != 0:
        raise UnsaidError
    kept = [part for part in needed if part != "TRUE"]
    return " AND ".join(kept) if kept else "TRUE"


def _listed(node: Tree) -> list[Tree]:
    return node if isinstance(node, list) else [] if node is None else [node]


def _field(name: str) -> str:
    if _PLAIN_FIELD.fullmatch(name):
        return name
    return ".".join(f"`{part.replace('`', '``')}`" for part in encodable(name).split("."))


def _literal(value: Tree) -> str:
    if isinstance(value, str):
        return text(value)
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | float):
        return repr(value)
    raise UnsaidError


def _term(field: str, value: Tree) -> str:
    plain = value.get("value") if isinstance(value, dict) and value.keys() == {"value"} else value
    return f"{_field(field)} == {_literal(plain)}"


def _terms(field: str, values: Tree) -> str:
    if not isinstance(values, list) or not values:
        raise UnsaidError
    return f"{_field(field)} IN ({', '.join(_literal(v) for v in values)})"


def _range(field: str, bounds: Tree) -> str:
    signs = {"gte": ">=", "gt": ">", "lte": "<=", "lt": "<"}
    if not isinstance(bounds, dict) or not bounds or not bounds.keys() <= signs.keys():
        raise UnsaidError
    return " AND ".join(f"{_field(field)} {signs[key]} {_literal(value)}" for key, value in bounds.items())


def _function(name: str) -> Callable[[str, Tree], str]:
    def said(field: str, value: Tree) -> str:
        if not isinstance(value, str):
            raise UnsaidError
        return f"{name}({_field(field)}, {text(value)})"

    return said


def _regexp(field: str, value: Tree) -> str:
    if not isinstance(value, str):
        raise UnsaidError
    return f"{_field(field)} RLIKE {text(f'.*{value}.*')}"


def _exists(key: str, value: Tree) -> str:
    if key != "field" or not isinstance(value, str):
        raise UnsaidError
    return f"{_field(value)} IS NOT NULL"


_SAID: Mapping[str, Callable[[str, Tree], str]] = {
    "term": _term,
    "terms": _terms,
    "range": _range,
    "exists": _exists,
    "regexp": _regexp,
    "match": _function("MATCH"),
    "match_phrase": _function("MATCH_PHRASE"),
    "prefix": _function("STARTS_WITH"),
}
