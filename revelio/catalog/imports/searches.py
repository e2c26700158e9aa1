"""Saved searches of Kibana and OpenSearch Dashboards: the NDJSON that they export."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from revelio.catalog.imports.question import MOST_TEXT, MOST_TITLE, Collector, ImportedQuestion, plain

_TERM = re.compile(r'\s*(?:(not)\s+)?(?:([\w.@-]+)\s*(:|>=|<=|>|<)\s*)?("(?:[^"\\]|\\.)*"|[^\s():"]+)\s*', re.IGNORECASE)
_RANGE = {">": "gt", ">=": "gte", "<": "lt", "<=": "lte"}


class UnreadError(Exception):
    """A search that is not read; its text says why, after "the search"."""


def read_searches(text: str, where: str, into: Collector, base: str = "") -> None:
    """The searches of an export, one JSON object a line."""
    found = 0
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            saved = json.loads(line)
        except ValueError:
            into.problems.append(f"{where}:{number}: is no line of JSON")
            continue
        if not isinstance(saved, Mapping) or saved.get("type") != "search" or not isinstance(saved.get("attributes"), Mapping):
            continue
        found += 1
        attributes = saved["attributes"]
        title = plain(attributes.get("title") or "untitled", MOST_TITLE)
        try:
            clauses = list(_clauses(attributes))
        except (UnreadError, ValueError, TypeError, AttributeError) as why:
            into.problems.append(f"{where}:{number}: {title}: the search {why}")
            continue
        body: dict[str, object] = {"view": "lines", "query": {"bool": {"filter": clauses}} if clauses else {"match_all": {}}}
        link = f"{base.rstrip('/')}/app/discover#/view/{saved.get('id')}" if base else ""
        text_of = plain(attributes.get("description"), MOST_TEXT)
        into.questions.append(ImportedQuestion("elasticsearch", title, text_of, body, f'From your saved search "{title}".', link))
    if not found and not into.problems:
        into.problems.append(f"{where}: holds no saved searches; export them from Stack Management, Saved Objects")


def _clauses(attributes: Mapping[str, object]) -> Iterator[dict[str, object]]:
    meta = attributes.get("kibanaSavedObjectMeta")
    source = json.loads(str(meta.get("searchSourceJSON") or "{}")) if isinstance(meta, Mapping) else {}
    query = source.get("query") or {}
    words = str(query.get("query") or "").strip() if isinstance(query, Mapping) else ""
    if words:
        if query.get("language") not in ("kuery", "lucene", None):
            raise UnreadError(f"is in {query.get('language')}, which is not read")
        yield from _words(words)
    for chosen in source.get("filter") or ():
        told = chosen.get("meta") or {}
        clause = chosen.get("query") or {
            k: v for k, v in chosen.items() if k in ("range", "exists", "term", "terms", "match_phrase")
        }
        if told.get("disabled") or not clause:
            continue
        yield {"bool": {"must_not": [clause]}} if told.get("negate") else clause


def _words(words: str) -> Iterator[dict[str, object]]:
    """Terms joined by ``and``. What has brackets or ``or`` is not taken apart."""
    if re.search(r"[()]|\bor\b", words, re.IGNORECASE):
        raise UnreadError("has brackets or `or`, which are not read")
    for part in re.split(r"\s+and\s+", words, flags=re.IGNORECASE):
        place = 0
        while place < len(part):
            term = _TERM.match(part, place)
            if term is None:
                raise UnreadError(f"cannot be read from {part[place : place + 20]!r} on")
            clause = _clause(term[2], term[3], term[4])
            yield {"bool": {"must_not": [clause]}} if term[1] else clause
            place = term.end()


def _clause(field: str | None, sign: str | None, value: str) -> dict[str, object]:
    text = json.loads(value) if value.startswith('"') else value
    if field is None or sign is None:
        return {"simple_query_string": {"query": text}}
    if sign in _RANGE:
        return {"range": {field: {_RANGE[sign]: text}}}
    if text == "*":
        return {"exists": {"field": field}}
    return {"wildcard": {field: text}} if "*" in text else {"match_phrase": {field: text}}
