"""Where the server may listen."""

from __future__ import annotations

from ipaddress import ip_address

from revelio.errors import InvalidInputError


def require_loopback(host: str) -> None:
    """Raise ``InvalidInputError`` unless ``host`` is a loopback address: there are no accounts that could keep others out."""
    if not is_loopback(host):
        raise InvalidInputError(
            f"cannot listen on {host!r}: authentication does not exist yet, so anybody who reaches that address could read "
            "every report and run queries; set `host` to 127.0.0.1 and reach it from elsewhere through an SSH tunnel"
        )


def is_loopback(host: str) -> bool:
    """True for ``localhost``, 127.0.0.0/8 and ::1."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.removeprefix("[").removesuffix("]")).is_loopback
    except ValueError:
        return False
