"""Checks before the server starts: a safe address, an admin when accounts are on, changed settings in the audit trail."""

from __future__ import annotations

import hashlib
import json
from ipaddress import ip_address

from revelio.errors import InvalidInputError
from revelio.settings import Settings
from revelio.store import Actor, Store

_ACTION = "settings"


def require_safe_address(settings: Settings) -> None:
    """Raise ``InvalidInputError`` for an address other than loopback while accounts are off."""
    if not settings.accounts and not is_loopback(settings.host):
        raise InvalidInputError(
            f"cannot listen on {settings.host!r} without authentication: everyone who can reach that address could read all "
            "reports and run queries; set `accounts = true` and add an admin (`revelio docs accounts`), or set `host` to "
            "127.0.0.1 and reach it from elsewhere through an SSH tunnel"
        )


def is_loopback(host: str) -> bool:
    """True for ``localhost``, 127.0.0.0/8 and ::1."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.removeprefix("[").removesuffix("]")).is_loopback
    except ValueError:
        return False


def open_store(settings: Settings) -> Store:
    """The store of the settings. ``InvalidInputError`` when accounts are on and no admin exists."""
    store = Store(settings.database, masked=settings.mask)
    try:
        if settings.accounts and not store.accounts.has_admin():
            raise InvalidInputError(
                "accounts are on, and there is no admin yet; make one, which asks for a password, with "
                "revelio users add NAME --role admin"
            )
        note_settings(settings, store)
    except BaseException:
        store.close()
        raise
    return store


def note_settings(settings: Settings, store: Store) -> None:
    """Record which settings changed: their names, never their values.

    Values are compared by digest; the digests are the entry's target.
    """
    now = {name: _digest(value) for name, value in sorted(settings.model_dump(mode="json").items())}
    last = store.audit.list(1, action=_ACTION)
    before: dict[str, str] = json.loads(last[0].target) if last else {}
    changed = [name for name in now if now[name] != before.get(name)] + [name for name in before if name not in now]
    if changed:
        words = f"changed: {', '.join(changed)}" if last else "first start"
        store.audit.add(Actor("server"), _ACTION, json.dumps(now, separators=(",", ":")), words)


def _digest(value: object) -> str:
    # Short on purpose: enough to see a change, too little to test guesses of a secret against.
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:4]
