"""Lies in the content of an answer: each takes what a polite backend would say, and gives the bytes that are said instead."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from tests.hostile.polite import Tree

HOSTILE_NAME = "\x1b[31m<script>alert(1)</script>\u202e'; DROP TABLE answers; --"


def each_text(change: Callable[[str], object]) -> Callable[[bytes, str], bytes]:
    """Change every text that is no key; those that say what kind of answer it is stay."""

    def walk(tree: Tree) -> Tree:
        if isinstance(tree, dict):
            return {k: v if k in ("status", "resultType") else walk(v) for k, v in tree.items()}
        if isinstance(tree, list):
            return [walk(part) for part in tree]
        return change(tree) if isinstance(tree, str) else tree

    return lambda body, path: json.dumps(walk(json.loads(body))).encode()


def each_figure(wanted: str) -> Callable[[bytes, str], bytes]:
    """Every number is this, as JSON, and every text that looks like one."""

    def walk(tree: Tree) -> Tree:
        if isinstance(tree, dict):
            return {k: walk(v) for k, v in tree.items()}
        if isinstance(tree, list):
            return [walk(part) for part in tree]
        if isinstance(tree, str):
            return wanted if tree.replace(".", "").isdecimal() else tree
        return "@" if isinstance(tree, int | float) and not isinstance(tree, bool) else tree

    return lambda body, path: json.dumps(walk(json.loads(body))).replace('"@"', wanted).encode()


def each_inner(put: Tree) -> Callable[[bytes, str], bytes]:
    """Every list and mapping below the first two levels is this."""

    def walk(tree: Tree, depth: int) -> Tree:
        if not isinstance(tree, dict | list):
            return tree
        if depth > 1:
            return put
        if isinstance(tree, dict):
            return {k: walk(v, depth + 1) for k, v in tree.items()}
        return [walk(part, depth + 1) for part in tree]

    return lambda body, path: json.dumps(walk(json.loads(body), 0)).encode()


def crowd(body: bytes, path: str) -> bytes:
    """100,000 services; of every list in other answers 2,000 copies of its first."""
    if "/api/services" in path:
        return json.dumps({"data": [f"service-{n}" for n in range(100_000)], "total": 100_000, "errors": None}).encode()

    def walk(tree: Tree) -> Tree:
        if isinstance(tree, dict):
            return {k: walk(v) for k, v in tree.items()}
        return tree[:1] * 2_000 if isinstance(tree, list) and tree and isinstance(tree[0], dict) else tree

    return json.dumps(walk(json.loads(body))).encode()


def circle(body: bytes, path: str) -> bytes:
    """Spans that are their own parents."""
    return body.replace(b'"references": []', b'"references": [{"refType": "CHILD_OF", "traceID": "t0", "spanID": "s01"}]')


def failing(said: Tree) -> Callable[[bytes, str], bytes]:
    """An error of unexpected shape."""
    return lambda body, path: json.dumps({"error": said, "status": "oops", "errors": said}).encode()


def only(answer: bytes) -> Callable[[bytes, str], bytes]:
    """The same to every question."""
    return lambda body, path: answer


JSON: Mapping[str, Callable[[bytes, str], bytes]] = {
    "polite": lambda body, path: body,
    "empty": only(b""),
    "null": only(b"null"),
    "list": only(b"[]"),
    "object": only(b"{}"),
    "number": only(b"1e999"),
    "long-number": only(b'{"data": ' + b"9" * 100_000 + b"}"),
    "deep-lists": only(b"[" * 100_000),
    "deep-objects": only(b'{"data":' * 100_000),
    "not-utf8": only(b'{"data": "\xff\xfe\xc0"}'),
    "byte-order-mark": only(b"\xef\xbb\xbf{}"),
    "html": only(b"<!doctype html><script>alert(1)</script>"),
    "texts-hostile": each_text(lambda text: HOSTILE_NAME),
    "texts-long": each_text(lambda text: text + "x" * 100_000),
    "texts-nul": each_text(lambda text: f"\x00{text}\ud800"),
    "texts-empty": each_text(lambda text: ""),
    "texts-null": each_text(lambda text: None),
    "texts-arrows": each_text(lambda text: f"{text}->->{text}->"),
    "figures-nan": each_figure("NaN"),
    "figures-infinite": each_figure("-Infinity"),
    "figures-huge": each_figure("1e308"),
    "figures-negative": each_figure("-1"),
    "figures-long": each_figure("1" * 400),
    "inner-null": each_inner(None),
    "inner-lists": each_inner([[[]]]),
    "inner-texts": each_inner("x"),
    "crowd": crowd,
    "circle": circle,
    "error-text": failing("no"),
    "error-list": failing([1, None]),
    "error-deep": failing({"root_cause": [None], "reason": {"a": 1}}),
}
