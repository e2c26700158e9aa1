"""What people paste from mails, chats and pages, as plain text that reads well."""

from __future__ import annotations

import re

_SPACES = re.compile(r"[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000\t]")
_UNSEEN = re.compile("[\u00ad\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufffc]")
"""Soft hyphens, marks of direction, object placeholders: they hide in copies of rich text and only confuse readers."""
_BREAKS = re.compile(r"\r\n?|[\u000b\u000c\u0085\u2028\u2029]")


def tidy(text: str) -> str:
    """The same words without what rich text leaves behind: odd spaces and line ends, unseen marks, runs of empty lines.

    Joiners that some scripts and emoji need stay, as does every visible character and each line's indentation.
    """
    text = _UNSEEN.sub("", _SPACES.sub(" ", _BREAKS.sub("\n", text)))
    lines = [line.rstrip() for line in text.split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")
