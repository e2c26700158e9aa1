"""Words that would give an injected fault away, and where they are found."""

from __future__ import annotations

import re

from fault_injection.kinds import kinds

_HARMLESS = re.compile(
    r"revelio-(?:shop|forum|travel)|revelio/(?:shop|forum|travel)|revelio\.role|default\w*|page[_ ]faults?", re.IGNORECASE
)
_KINDS = "|".join(k.name for k in kinds() if k.name not in ("none", "delay", "loss", "bandwidth", "congestion", "partition"))
"""Names of kinds that are not also words of the field."""

_TELLING = re.compile(
    rf"inject|chaos|(?<![a-z])fault|revelio|sabotage|campaign|netem|toxi|(?<![a-z_])(?:{_KINDS})(?![a-z_])", re.IGNORECASE
)


def telling_words(text: str) -> set[str]:
    """The words in ``text`` that show that somebody made the fault on purpose."""
    return set(_TELLING.findall(_HARMLESS.sub("", text)))
