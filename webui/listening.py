"""Where the server may listen."""

from __future__ import annotations

from ipaddress import ip_address

from revelio.errors import InvalidInputError
from revelio.settings import Settings


def require_safe_address(settings: Settings) -> None:
    """Raise ``InvalidInputError`` where strangers could reach a server that asks nobody who they are."""
    if not settings.accounts and not is_loopback(settings.host):
        raise InvalidInputError(
            f"cannot listen on {settings.host!r} without authentication: anybody who reaches that address could read every "
            "report and run queries; set `accounts = true` and add an admin (docs/how-to/accounts.md), or set `host` to "
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
