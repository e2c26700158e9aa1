"""SQL whose values are parameters, the same as text to paste, and statements with their literals taken out."""

from __future__ import annotations

import re
from collections.abc import Mapping

from psycopg import sql

MAX_STATEMENT = 240

_LITERALS = re.compile(
    r"""
    \$(\w*)\$ .*? (?:\$\1\$|\Z)                            # $$dollar quoted$$
    | (?:\b[eE]) '(?:[^'\\]|''|\\.)* (?:'|\Z)              # E'with backslashes'
    | (?:\b[uUbBxX]&?|) '(?:[^']|'')* (?:'|\Z)             # 'plain'
    | ("(?:[^"]|"")* (?:"|\Z) | \$\d+ | [A-Za-z_][\w$]*)   # names and parameters stay
    | --[^\n]* | /\*.*?(?:\*/|\Z)                          # comments may hold anything
    | \d[\w.]*                                             # numbers
    """,
    re.VERBOSE | re.DOTALL,
)


def query_of(text: str, names: Mapping[str, str]) -> sql.Composed:
    """A statement whose placeholders ``${name}`` are the client's own parameters: a value is never part of the text."""
    parts: list[sql.Composable] = []
    for index, piece in enumerate(_pieces(text, names)):
        parts.append(sql.Placeholder(piece) if index % 2 else sql.SQL(piece.replace("%", "%%")))
    return sql.Composed(parts)


def text_of(text: str, values: Mapping[str, str]) -> str:
    """The same statement with its values as quoted literals, to paste into a client."""
    pieces = _pieces(text, values)
    return "".join(sql.Literal(storable(values[p])).as_string() if i % 2 else p for i, p in enumerate(pieces))


def storable(value: str) -> str:
    """As PostgreSQL can hold it: no NUL, and Unicode that can be encoded."""
    return value.replace("\x00", "�").encode("utf-8", errors="replace").decode()


def masked(statement: str) -> str:
    """A statement on one line without the values in it, cut to a readable length; also where it was cut off before."""
    without = _LITERALS.sub(lambda found: found[2] or (" " if found[0][:2] in ("--", "/*") else "?"), statement)
    return " ".join(without.split())[:MAX_STATEMENT]


def _pieces(text: str, names: Mapping[str, str]) -> list[str]:
    """Text, name, text, name, ... text: the placeholders are found before any value is there."""
    if not names:
        return [_plain(text)]
    return re.split(r"\$\{(" + "|".join(map(re.escape, names)) + r")\}", _plain(text))


def _plain(text: str) -> str:
    return text.strip().rstrip(";")
