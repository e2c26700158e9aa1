"""Finds text of the page that no catalog can translate: in templates by their syntax, on pages by brackets around messages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser

from jinja2 import Environment, nodes

ATTRIBUTES = frozenset({"alt", "aria-label", "data-busy", "data-label", "data-unreachable", "label", "placeholder", "title"})
"""Attributes that people read or hear."""
CODE = frozenset({"code", "pre", "kbd", "var", "script", "style"})
"""Elements whose text is the same in every language."""
OPEN, CLOSE = "⟦", "⟧"
SAME = {"14:20, 30m ago", "Revelio", "API", "UTC", "Sek", "Min", "ms", "KiB", "MiB", "curl", "Slack"}
"""Names, units, and examples of what is typed."""
_BREAKS = re.compile(r"https?://[^\s)]+| ## | > | · |[,;:.] |[,:;.]$|→|…|[()“”\"\n]| × | = |=|\b\d[\d.,:]*\b")
_EDGES = " []#*>·.…?!–−+<%\xa0"
_WORD = re.compile(r"[^\W\d_]{2,}")
_EMPTY = frozenset({"input", "link", "meta", "br", "img", "rect", "path", "circle"})


class Texts(HTMLParser):
    """Collects the texts of a page that stand outside the brackets, attributes included."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []
        self._within: list[str] = []
        self._depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _EMPTY:
            self._within.append(tag)
        for name, value in attrs:
            if name in ATTRIBUTES:
                self.found += _outside(value or "", 0)[0]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """SVG: no text."""

    def handle_endtag(self, tag: str) -> None:
        while self._within and self._within.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        parts, self._depth = _outside(data, self._depth)
        if not CODE & set(self._within):
            self.found += parts


def texts_outside(html: str) -> list[str]:
    """Texts with words that stand outside brackets, code and scripts."""
    parser = Texts()
    parser.feed(html)
    return [text for text in parser.found if _WORD.search(text)]


def _outside(text: str, depth: int) -> tuple[list[str], int]:
    """The parts outside all brackets, and how deep within brackets the text ends."""
    parts, start = [""], depth
    for mark in text:
        start += (mark == OPEN) - (mark == CLOSE)
        if mark in (OPEN, CLOSE):
            parts.append("")
        elif not start:
            parts[-1] += mark
    return [part.strip() for part in parts if part.strip()], start


def unmarked_in_template(environment: Environment, source: str) -> list[str]:
    """Texts of a template that are neither messages nor code."""
    return [*texts_outside("".join(_markup(environment, source))), *_constants(environment.parse(source))]


def _markup(environment: Environment, source: str) -> Iterator[str]:
    """The template's own markup; expressions and translated blocks as nothing."""
    tag: list[str] = []
    translated = False
    for _, kind, text in environment.lex(source):
        if kind == "block_begin":
            tag = []
        elif kind == "name":
            tag.append(text)
        elif kind == "block_end" and tag[:1] in (["trans"], ["endtrans"]):
            translated = tag[0] == "trans"
        elif kind == "data" and not translated:
            yield text


def _constants(tree: nodes.Template) -> Iterator[str]:
    """Literals with words that an expression puts on the page, past ``_()``."""
    for output in tree.find_all(nodes.Output):
        for node in output.nodes:
            if not isinstance(node, nodes.TemplateData):
                yield from _put_out(node)
    for assigned in tree.find_all(nodes.Assign):
        yield from _put_out(assigned.node)
    for loop in tree.find_all(nodes.For):
        yield from (text for text in _put_out(loop.iter) if " " in text or text[:1].isupper())


def _put_out(node: nodes.Node) -> Iterator[str]:
    if isinstance(node, nodes.Const):
        yield from [node.value] if isinstance(node.value, str) and _WORD.search(node.value) else []
    elif isinstance(node, nodes.CondExpr):
        yield from _all(one for one in (node.expr1, node.expr2) if one is not None)
    elif isinstance(node, nodes.Call) and isinstance(node.node, nodes.Getattr) and isinstance(node.node.node, nodes.Dict):
        yield from _all((node.node.node, *node.args))
    elif isinstance(node, nodes.Getitem):
        yield from _put_out(node.node)
    elif isinstance(node, nodes.Dict):
        yield from _all(pair.value for pair in node.items)
    elif isinstance(node, (nodes.Concat, nodes.Or, nodes.And, nodes.Add, nodes.Tuple, nodes.List)):
        yield from _all(node.iter_child_nodes())
    elif isinstance(node, nodes.Filter) and node.node is not None:
        yield from _put_out(node.node)


def _all(several: Iterable[nodes.Node]) -> Iterator[str]:
    for node in several:
        yield from _put_out(node)


def left_in_english(html: str, data: set[str]) -> set[str]:
    """Texts outside the brackets that are no data: one word must be all of a text, several may be a part of one."""
    everything = "\n".join(data)

    def known(text: str) -> bool:
        return text in data or text in SAME or (" " in text and text in everything) or not _WORD.search(text)

    texts = {_plain(text).strip(_EDGES) for text in texts_outside(html)}
    parts = {part.strip(_EDGES) for text in texts if not known(text) for part in _BREAKS.split(text)}
    return {part for part in parts if not known(part)}


def _plain(text: str) -> str:
    """In one line, without the backslashes of Markdown."""
    return " ".join(text.replace("\\", "").split())
