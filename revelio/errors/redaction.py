"""Keeps secrets out of every text that leaves the process: pages, replies, messages, logs, files.

A secret is known by one of three things: it was read from the settings (``remember``), it stands before the ``@`` of an
address, or it stands under a key that names a secret. Addresses and keys are parsed; what is ambiguous is hidden.
"""

from __future__ import annotations

import base64
import json
import re
import threading
from collections.abc import Iterable, Iterator
from urllib.parse import quote, quote_plus, unquote

HIDDEN = "***"
_SHORTEST = 4
_WORD = 8
"""A word as short as this may stand in any sentence: it is hidden where an address or a key says that it is a secret."""
_MOST = 2_000
"""Secrets that are remembered; tokens in files change, so the oldest goes."""

_PLACEHOLDERS = frozenset({"USER", "USER:PASSWORD"})
"""What Revelio's own messages write before the ``@`` of an example."""
_SECRETS = frozenset({
    "apikey", "auth", "authorization", "cookie", "credential", "credentials", "jwt", "pass", "passphrase", "passwd", "password",
    "passwords", "pwd", "secret", "secrets", "sig", "signature", "token", "tokens",
})  # fmt: skip
_ENDINGS = ("passwd", "password", "secret", "token")
"""Written together with another word, too, such as ``PGPASSWORD``."""
_KEYS_OF = frozenset({"access", "account", "api", "auth", "encryption", "private", "routing", "secret", "shared", "signing"})
"""``key`` is the name of a secret after one of these words."""
_NAMED_USERS = frozenset({"postgresql:", "postgres:", "mysql:", "mariadb:"})
"""Where user info without a password is a name; elsewhere it may be a token."""
_HEADERS = frozenset({"authorization", "cookie"})
_SCHEMES = frozenset({"apikey", "basic", "bearer", "token"})

_TO_ENCODE = frozenset("@/?#[] ")
_AUTHORITY = re.compile(r"(?<!/)//(?!/)")
_CHUNK = re.compile(r"[^\s'\"<>`]+")
_KEY = re.compile(r"[A-Za-z0-9_.-]+")
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_LONGEST_KEY = 100
_OPENING = {"'": "'", '"': '"', "`": "`"}
_ENDS = frozenset("&;,)}]\"'<>`")

_known: dict[str, None] = {}
_longest_first: tuple[str, ...] = ()
_lock = threading.Lock()


def remember(*secrets: str) -> None:
    """Hide these from now on, in each form in which a library may repeat them."""
    global _longest_first  # noqa: PLW0603 -- one process has one set of secrets, and every text that leaves it is checked
    found = [form for secret in secrets for form in _forms(secret) if _stands_out(form) and form not in _known]
    if not found:
        return
    with _lock:
        _known.update(dict.fromkeys(found))
        while len(_known) > _MOST:
            del _known[next(iter(_known))]
        _longest_first = tuple(sorted(_known, key=len, reverse=True))


def remember_address(address: str) -> None:
    """Hide from now on what is secret in an address, or in a connection string of ``key=value``."""
    remember(*secrets_in(address))


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """``text`` without what is remembered, ``secrets``, user info of addresses, and values of keys that name a secret."""
    for secret in (*secrets, *_longest_first):
        if secret in text:
            text = text.replace(secret, HIDDEN)
    if "//" in text:
        text = _CHUNK.sub(lambda chunk: _without_user_info(chunk[0]), text)
    return _without_assigned(text) if "=" in text or ":" in text else text


def redact_address(address: str) -> str:
    """A whole address, spaces and all, without its secrets."""
    before, user_info, after = split_address(address)
    return redact(f"{before}{HIDDEN}@{after}" if user_info else address)


def public_address(address: str) -> str:
    """An address as a link that anybody may follow: without user info, and without the values of keys that name a secret."""
    before, user_info, rest = split_address(address)
    return redact(before + rest if user_info else address)


def split_address(address: str) -> tuple[str, str, str]:
    """An address up to its ``//``, its user info without the ``@``, and the rest.

    A password that is not percent-encoded may hold ``/``, ``?``, ``#`` and ``@``: the user info reaches to the last ``@``.
    """
    found = _AUTHORITY.search(address)
    if found is None:
        return address, "", ""
    user_info, at, rest = address[found.end() :].rpartition("@")
    return (address[: found.end()], user_info, rest) if at else (address, "", "")


def checked_address(address: str) -> str:
    """The address; ``ValueError`` where its user info is not percent-encoded: libraries disagree on where that ends."""
    before, user_info, _ = split_address(address)
    if set(user_info) & _TO_ENCODE or (before != address and any(map(str.isspace, address))):
        raise ValueError(
            "its user or password is not percent-encoded: write @ as %40, / as %2F, ? as %3F, # as %23 and a space as %20 "
            "(an @ after the host, too)"
        )
    return address


def is_secret(key: str) -> bool:
    """Whether a key (``api_key``, ``X-Auth-Token``, ``clientSecret``) names a secret, and not where one is kept."""
    if len(key) > _LONGEST_KEY:
        return False
    *before, last = [word.lower() for word in _WORDS.findall(key)] or [""]
    return last.endswith(_ENDINGS) or last in _SECRETS or (last == "key" and bool(before) and before[-1] in _KEYS_OF)


def secrets_in(address: str) -> tuple[str, ...]:
    """What is secret in an address or connection string: user info, password, and the values of keys that name a secret."""
    before, user_info, _ = split_address(address)
    user, colon, password = user_info.partition(":")
    found: list[str] = []
    if colon:
        plain = unquote(password)
        found += [user_info, base64.b64encode(f"{unquote(user)}:{plain}".encode(errors="replace")).decode(), password, plain]
    elif before.removesuffix("//") not in _NAMED_USERS:
        found.append(user_info)
    found += [address[start:end] for start, end in _assigned(address)]
    return tuple(dict.fromkeys(s for s in found if len(s) >= _SHORTEST and (s != user or not colon)))


def _forms(secret: str) -> Iterator[str]:
    for form in (secret, unquote(secret)):
        yield form
        yield quote(form, safe="")
        yield quote(form)
        yield quote_plus(form)
        yield json.dumps(form)[1:-1]
        yield repr(form)[1:-1]


def _stands_out(secret: str) -> bool:
    """Whether it can be told from a word, or a number such as a port, of any sentence."""
    short = len(secret) <= _WORD and ((secret.isalpha() and secret.islower()) or secret.isdecimal())
    return len(secret.strip()) >= _SHORTEST and not short and secret != HIDDEN


def _without_user_info(chunk: str) -> str:
    before, user_info, rest = split_address(chunk)
    return f"{before}{HIDDEN}@{rest}" if user_info and user_info not in _PLACEHOLDERS else chunk


def _without_assigned(text: str) -> str:
    kept, read = [], 0
    for start, end in _assigned(text):
        kept += [text[read:start], HIDDEN]
        read = end
    return "".join([*kept, text[read:]])


def _assigned(text: str) -> Iterator[tuple[int, int]]:
    """Where values of keys that name a secret begin and end: ``key=value``, ``"key": "value"``, ``Authorization: value``."""
    past = 0
    for found in _KEY.finditer(text):
        named = is_secret(found[0]) or (found[0] == "key" and text[found.start() - 1 : found.start()] in ("?", "&"))
        if found.start() < past or not named:
            continue
        span = _value(text, found.end(), found[0])
        if span and span[0] < span[1]:
            yield span
            past = span[1]


def _value(text: str, at: int, key: str) -> tuple[int, int] | None:
    """The value that stands after a key which ends at ``at``; None where it is no key but a word of a sentence."""
    quoted = text[at : at + 1] in _OPENING
    at = _past_blanks(text, at + quoted)
    sign = text[at : at + 1]
    if sign not in ("=", ":"):
        return None
    at = _past_blanks(text, at + 1)
    opening = text[at : at + 1]
    if opening in _OPENING:
        return at + 1, _closing(text, at + 1, _OPENING[opening])
    header = key.rpartition(".")[2].lower().rpartition("-")[2] in _HEADERS
    if sign == ":" and not (quoted or header or "-" in key):
        return None
    end = _end(text, at)
    if text[at:end].lower() in _SCHEMES and text[end : end + 1] == " ":
        end = _end(text, end + 1)
    return at, end


def _past_blanks(text: str, at: int) -> int:
    return at + 1 if text[at : at + 1] == " " else at


def _closing(text: str, at: int, quotation: str) -> int:
    while at < len(text) and text[at] != quotation and text[at] != "\n":
        at += 2 if text[at] == "\\" else 1
    return min(at, len(text))


def _end(text: str, at: int) -> int:
    while at < len(text) and not text[at].isspace() and text[at] not in _ENDS:
        at += 1
    return at
