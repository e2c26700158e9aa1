"""Words that would give an injected fault away, and where they are found."""

from __future__ import annotations

import re

from fault_injection.kinds import kinds

_HARMLESS = re.compile(r"revelio-shop|revelio\.role|revelio/shop|default\w*", re.IGNORECASE)
_TELLING = re.compile(
    r"inject|chaos|(?<![a-z])fault|revelio|sabotage|campaign|" + "|".join(k.name for k in kinds() if k.name != "none"),
    re.IGNORECASE,
)


def telling_words(text: str) -> set[str]:
    """The words in ``text`` that show that somebody made the fault on purpose."""
    return set(_TELLING.findall(_HARMLESS.sub("", text)))
