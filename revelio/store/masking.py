"""Masks secrets and personal data in what people write, before it is kept.

A short list of rules that anybody can review: libraries that do this well bring language models or classifiers of
hundreds of megabytes. Masking a masked text changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Literal, get_args

Maskable = Literal["secrets", "emails", "cards", "addresses"]

_KEPT = {
    "secrets": "[secret masked]",
    "emails": "[e-mail masked]",
    "cards": "[card number masked]",
    "addresses": "[address masked]",
}
_PASSES = 8
"""What stood next to something that is masked may only now look like what it is."""
_NOT_YET = r"(?!\[secret masked\])"
_KEY_FENCE = re.compile(r"-----(BEGIN|END) [A-Z ]{0,40}PRIVATE KEY-----")
_IN_ADDRESS = re.compile(rf"(?<=://)([^\s/:@\[\]]{{0,100}}):{_NOT_YET}[^\s/@]{{1,200}}@")
_HEADER = re.compile(rf"(?i)\b(bearer|basic)(\s+){_NOT_YET}[A-Za-z0-9._~+/=-]{{12,}}")
_ASSIGNED = re.compile(
    r"(?i)(?<![a-z])((?:pass(?:word|wd|phrase)?|pwd|secret|token|api[_-]?key|access[_-]?key|client[_-]?secret|session[_-]?id)[\"']?"
    rf"(?:\s{{0,3}}=\s{{0,3}}|\s{{0,3}}:\s{{0,3}}(?=[\"']?\S{{0,100}}\d)))[\"']?{_NOT_YET}[^\s\"'&,;]{{1,300}}[\"']?"
)
_KNOWN = re.compile(
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"
    r"|\bgh[pousr]_[A-Za-z0-9]{20,}"
    r"|\bgithub_pat_[A-Za-z0-9_]{20,}"
    r"|\bglpat-[A-Za-z0-9_-]{20,}"
    r"|\bxox[abeprs]-[A-Za-z0-9-]{10,}"
    r"|\bhooks\.slack\.com/services/[A-Za-z0-9/]{20,}"
    r"|\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}"
    r"|\bsk-[A-Za-z0-9_-]{20,}"
    r"|\bAIza[A-Za-z0-9_-]{35}"
    r"|\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"
    r"|\bnpm_[A-Za-z0-9]{30,}"
    r"|\brvl_[A-Za-z0-9_-]{20,}"
    r"|\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"
)
_EMAIL = re.compile(r"(?<![\w.%+-])[\w.%+-]{1,64}@(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,63}(?![\w-])")
_NUMBER_OR_ID = re.compile(
    r"(?i)(?<![0-9a-z])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9a-z])"  # a UUID
    r"|(?<![0-9a-z])(?=[0-9]*+[a-f])[0-9a-f]++(?![0-9a-z])"  # a number in hexadecimal
    r"|(?P<digits>(?<![\d.])\d++(?!\.\d))"
)
"""Every alternative reads a character a bounded number of times, so that a text takes time in proportion to its length."""
_MOST_GROUPS, _FIRST_GROUP = 7, 3
"""A card number is written in at most as many groups of digits, and the first has at least as many digits."""
_SHORTEST_CARD, _LONGEST_CARD = 13, 19
_IPV4 = re.compile(r"(?<![\d.])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![\d]|\.\d)")
_IPV6 = re.compile(
    r"(?i)(?<![\w:.])(?:(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}|(?:[0-9a-f]{1,4}:){1,6}(?::[0-9a-f]{1,4}){1,6})(?![\w:])"
)


def mask(text: str, kinds: Collection[str]) -> str:
    """``text`` with everything of these kinds (``Maskable``) replaced by words in square brackets that name the kind."""
    for _ in range(_PASSES):
        before = text
        for kind in get_args(Maskable):
            if kind in kinds:
                text = _RULES[kind](text)
        if text == before:
            break
    return text


def masked_kinds(text: str) -> tuple[str, ...]:
    """The kinds of which something was masked in a text."""
    return tuple(kind for kind, words in _KEPT.items() if words in text)


def _secrets(text: str) -> str:
    gone = _KEPT["secrets"]
    text = _without_keys(text)
    text = _IN_ADDRESS.sub(rf"\1:{gone}@", text)
    text = _HEADER.sub(rf"\1\2{gone}", text)
    text = _KNOWN.sub(gone, text)
    return _ASSIGNED.sub(rf"\1{gone}", text)


def _emails(text: str) -> str:
    return _EMAIL.sub(_KEPT["emails"], text)


def _without_keys(text: str) -> str:
    """Without blocks of private keys; one that never ends reaches to the end of the text."""
    kept, begin, read = [], -1, 0
    for fence in _KEY_FENCE.finditer(text):
        if fence[1] == "BEGIN" and begin < 0:
            begin = fence.start()
        elif fence[1] == "END" and begin >= 0:
            kept += [text[read:begin], _KEPT["secrets"]]
            begin, read = -1, fence.end()
    return "".join([*kept, text[read:begin], _KEPT["secrets"]] if begin >= 0 else [*kept, text[read:]])


def _cards(text: str) -> str:
    kept, read = [], 0
    groups = [found.span() for found in _NUMBER_OR_ID.finditer(text) if found["digits"]]
    first = 0
    while first < len(groups):
        last = _last_of_card(text, groups, first)
        if last is None:
            first += 1
            continue
        kept += [text[read : groups[first][0]], _KEPT["cards"]]
        read, first = groups[last][1], last + 1
    return "".join([*kept, text[read:]])


def _last_of_card(text: str, groups: list[tuple[int, int]], first: int) -> int | None:
    """The last of the neighbouring groups of digits that, from the first one on, make up a card number."""
    if groups[first][1] - groups[first][0] < _FIRST_GROUP:
        return None
    digits = 0
    for last in range(first, min(first + _MOST_GROUPS, len(groups))):
        begin, end = groups[last]
        if last > first and text[groups[last - 1][1] : begin] not in (" ", "-"):
            return None
        digits += end - begin
        if digits > _LONGEST_CARD:
            return None
        if digits >= _SHORTEST_CARD and is_card(text[groups[first][0] : end]):
            return last
    return None


def _addresses(text: str) -> str:
    text = _IPV4.sub(_KEPT["addresses"], text)
    # `a::b` is how programs write names.
    return _IPV6.sub(lambda found: _KEPT["addresses"] if any(c.isdigit() for c in found[0]) else found[0], text)


def is_card(number: str) -> bool:
    """Whether digits (spaces and hyphens aside) could be a payment card's: issued range, length and Luhn's check digit."""
    digits = [int(c) for c in number if c.isdecimal()]
    if not _SHORTEST_CARD <= len(digits) <= _LONGEST_CARD or digits[0] not in (2, 3, 4, 5, 6):
        return False
    doubled = (d if place % 2 == 0 else d * 2 - 9 * (d > 4) for place, d in enumerate(reversed(digits)))
    return sum(doubled) % 10 == 0


_RULES: dict[str, Callable[[str], str]] = {
    "secrets": _secrets,
    "emails": _emails,
    "cards": _cards,
    "addresses": _addresses,
}
