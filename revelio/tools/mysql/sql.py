"""SQL whose values cannot become part of it, the same as text to paste, what is let through, and statements without literals."""

from __future__ import annotations

import re
from collections.abc import Mapping

from revelio.tools.links import encodable
from revelio.tools.placeholders import put

MAX_STATEMENT = 240

_LITERALS = re.compile(
    r"""
    '(?:[^'\\]|''|\\.)* (?:'|\Z)                 # 'plain', also where it was cut off
    | "(?:[^"\\]|""|\\.)* (?:"|\Z)               # "plain": MySQL's own mode reads it as text
    | (`(?:[^`]|``)* (?:`|\Z) | [A-Za-z_@$][\w$]*)  # names stay
    | (?:--[\s]|\#)[^\n]* | /\*.*?(?:\*/|\Z)     # comments may hold anything
    | \d[\w.]*                                   # numbers
    """,
    re.VERBOSE | re.DOTALL,
)
_BEGINS = re.compile(r"\s*(?:SELECT|WITH|SHOW)\b", re.IGNORECASE)
_DOES = re.compile(
    r"\b(?:INTO|FOR\s+UPDATE|FOR\s+SHARE|LOCK\s+IN)\b|/\*M?!|:="
    r"|\b(?:GET_LOCK|RELEASE_LOCK|RELEASE_ALL_LOCKS|LOAD_FILE|SLEEP|BENCHMARK|NEXTVAL|SETVAL)\s*\(",
    re.IGNORECASE,
)
"""What a SELECT can do beyond reading rows; a comment that begins so is run."""


def refusal(statement: str) -> str | None:
    """Why a statement is not sent, in words that follow "the query"; None when it only reads."""
    if not _BEGINS.match(statement):
        return "has to be one SELECT or SHOW"
    found = _DOES.search(statement)
    return f"may not say {' '.join(found[0].split()).upper()}: it is only to read" if found else None


def sent(statement: str, values: Mapping[str, str]) -> str:
    """The statement with its values as hexadecimal literals: whatever a value holds, and whichever mode the server is in."""
    return put(_plain(statement), values, lambda value: f"_utf8mb4 X'{storable(value).encode().hex()}'")


def text_of(statement: str, values: Mapping[str, str]) -> str:
    """The same statement with its values as quoted literals, to paste into a client."""
    return put(_plain(statement), values, _quoted)


def storable(value: str) -> str:
    """Unicode that can be encoded, without NUL."""
    return encodable(value.replace("\x00", "�"))


def masked(statement: str) -> str:
    """A statement on one line without the values in it, cut to a readable length; also where it was cut off before."""
    without = _LITERALS.sub(lambda found: found[1] or (" " if found[0][:1] in "-#/" else "?"), statement)
    return " ".join(without.split())[:MAX_STATEMENT]


def _quoted(value: str) -> str:
    inner = storable(value).replace("\\", "\\\\").replace("'", "''")
    return f"'{inner}'"


def _plain(statement: str) -> str:
    return statement.strip().rstrip(";")
