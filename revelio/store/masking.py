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
_KEY_BLOCK = re.compile(
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.{0,10000}?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)", re.DOTALL
)
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
_DIGITS = re.compile(r"(?<![\d.])\d+(?:[ -]\d+)*(?![\d.]?\d)")
_GROUP = re.compile(r"\d+")
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
    text = _KEY_BLOCK.sub(gone, text)
    text = _IN_ADDRESS.sub(rf"\1:{gone}@", text)
    text = _HEADER.sub(rf"\1\2{gone}", text)
    text = _KNOWN.sub(gone, text)
    return _ASSIGNED.sub(rf"\1{gone}", text)


def _emails(text: str) -> str:
    return _EMAIL.sub(_KEPT["emails"], text)


def _cards(text: str) -> str:
    return _DIGITS.sub(lambda found: _mask_cards(found[0]), text)


def _mask_cards(digits: str) -> str:
    """A run of groups of digits, with the first card number that some neighbouring groups make up masked, and so on."""
    groups = list(_GROUP.finditer(digits))
    for first in range(len(groups)):
        for last in range(first, min(first + 7, len(groups))):
            begin, end = groups[first].start(), groups[last].end()
            if is_card(digits[begin:end]):
                return digits[:begin] + _KEPT["cards"] + _mask_cards(digits[end:])
    return digits


def _addresses(text: str) -> str:
    text = _IPV4.sub(_KEPT["addresses"], text)
    # `a::b` is how programs write names.
    return _IPV6.sub(lambda found: _KEPT["addresses"] if any(c.isdigit() for c in found[0]) else found[0], text)


def is_card(number: str) -> bool:
    """Whether digits (spaces and hyphens aside) could be a payment card's: issued range, length and Luhn's check digit."""
    digits = [int(c) for c in number if c.isdigit()]
    if not 13 <= len(digits) <= 19 or digits[0] not in (2, 3, 4, 5, 6):
        return False
    doubled = (d if place % 2 == 0 else d * 2 - 9 * (d > 4) for place, d in enumerate(reversed(digits)))
    return sum(doubled) % 10 == 0


_RULES: dict[str, Callable[[str], str]] = {
    "secrets": _secrets,
    "emails": _emails,
    "cards": _cards,
    "addresses": _addresses,
}
