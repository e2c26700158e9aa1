"""What identifiers are called on pages: roles, states, kinds of components."""

from __future__ import annotations

from webui.i18n import gettext, gettext_noop

_WORDS = {
    "viewer": gettext_noop("viewer"),
    "responder": gettext_noop("responder"),
    "admin": gettext_noop("admin"),
    "high": gettext_noop("high"),
    "fair": gettext_noop("fair"),
    "low": gettext_noop("low"),
    "none": gettext_noop("none"),
    "anomalous": gettext_noop("anomalous"),
    "normal": gettext_noop("normal"),
    "failed": gettext_noop("failed"),
    "suspect": gettext_noop("suspect"),
    "affected": gettext_noop("affected"),
    "service": gettext_noop("service"),
    "database": gettext_noop("database"),
    "redis server": gettext_noop("redis server"),
    "container": gettext_noop("container"),
    "host": gettext_noop("host"),
    "restarted": gettext_noop("restarted"),
    "version": gettext_noop("version"),
    "new error": gettext_noop("new error"),
    "default": gettext_noop("default"),
    "given at the start": gettext_noop("given at the start"),
}


def word(identifier: str) -> str:
    """What the identifier is called in the reader's language; itself where it is no word of the page."""
    return gettext(_WORDS[identifier]) if identifier in _WORDS else identifier
