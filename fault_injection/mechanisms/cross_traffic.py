"""A stream of datagrams from one container's network to another's, like a replication or media stream."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable

from fault_injection.mechanisms.namespace import network_of

PORT = 5004
_DATAGRAM = bytes(1400)
_TICK_S = 0.02
_SEND_BUFFER = 32
"""Linux' SO_SNDBUFFORCE, which Python has no name for: what waits in the link's queue counts as not yet sent."""


def stream(source: int, sink: int, address: str, bytes_per_s: int, wanted: Callable[[], bool]) -> None:
    """Send ``bytes_per_s`` from the network of process ``source`` to ``address`` in that of process ``sink``.

    Never sends faster, whatever the link would take. Returns once not wanted. Raises ``OSError`` when ``address`` is not there.
    """
    with contextlib.ExitStack() as stack:
        with network_of(sink):
            taker = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        with network_of(source):
            sender = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        taker.bind((address, PORT))
        taker.setblocking(False)
        sender.setsockopt(socket.SOL_SOCKET, _SEND_BUFFER, 4 << 20)
        sender.setblocking(False)
        sender.connect((address, PORT))
        _send_on(sender, taker, bytes_per_s, wanted)


def _send_on(sender: socket.socket, taker: socket.socket, bytes_per_s: int, wanted: Callable[[], bool]) -> None:
    due, before, looked = 0.0, time.monotonic(), time.monotonic()
    while True:
        time.sleep(_TICK_S)
        now = time.monotonic()
        # After a pause of this process nothing is made up for.
        due, before = min(due + (now - before) * bytes_per_s, bytes_per_s * 0.1), now
        while due >= len(_DATAGRAM):
            due -= len(_DATAGRAM)
            with contextlib.suppress(OSError):
                sender.send(_DATAGRAM)
        with contextlib.suppress(OSError):
            while taker.recv(2048):
                pass
        if now - looked > 0.25:
            looked = now
            if not wanted():
                return
