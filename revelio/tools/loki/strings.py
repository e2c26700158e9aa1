"""Values inside LogQL, so that none becomes part of the language."""

from __future__ import annotations

import json
import re

from revelio.tools.links import encodable

_SPECIAL = re.compile(r"[\\.+*?()|\[\]{}^$]")


def text(value: str) -> str:
    """A string of LogQL."""
    return json.dumps(encodable(value), ensure_ascii=False)


def regex(value: str) -> str:
    """A regular expression (RE2) of just this text."""
    return _SPECIAL.sub(lambda found: "\\" + found[0], value)
