"""Keeps back what the kernel queues for us (iptables' NFQUEUE): packets go on after a while, in the order they came.

The queue is read by netlink, of each packet only its number, so that no copy of the packets is needed. pyroute2 (0.9.7) does
not speak NFQUEUE.
"""

from __future__ import annotations

import errno
import random
import select
import socket
import struct
import time
from collections import deque
from collections.abc import Callable

from fault_injection.mechanisms.namespace import network_of
from revelio.errors import FaultError

QUEUE = 7
"""The number by which iptables' rule and the reader mean the same queue; each network has its own."""
_NETFILTER = 12
_PACKET, _VERDICT, _CONFIG, _BATCH = (3 << 8 | message for message in (0, 1, 2, 3))
_REQUEST, _ACKNOWLEDGE, _ERROR = 1, 4, 2
_ACCEPT = 1
_HEADER = struct.Struct("=IHHII")
"""Netlink's own: length, type, flags, sequence, port."""


def hold_back(pid: int, delay_s: float, jitter_s: float, wanted: Callable[[], bool]) -> None:
    """Let each packet queued in the network of process ``pid`` go after ``delay_s``, up to ``jitter_s`` more or less.

    Returns once not wanted; what is held then goes on at once. Raises ``FaultError`` when the kernel has no such queue.
    """
    with network_of(pid):
        queue = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETFILTER)
    with queue:
        queue.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        # Only bound is the queue there; of a packet its number is enough.
        _configure(queue, 1, struct.pack("!BBH", 1, 0, socket.AF_INET))
        _configure(queue, 2, struct.pack("!IB", 0, 1))
        _configure(queue, 3, struct.pack("!I", 4096))
        queue.setblocking(False)
        _forward(queue, delay_s, jitter_s, wanted)


def _forward(queue: socket.socket, delay_s: float, jitter_s: float, wanted: Callable[[], bool]) -> None:
    held: deque[tuple[float, int]] = deque()
    looked = time.monotonic()
    while True:
        now = time.monotonic()
        if now - looked > 0.25:
            looked = now
            if not wanted():
                break
        select.select([queue], [], [], max(0.0, min(0.25, held[0][0] - now if held else 0.25)))
        now = time.monotonic()
        for number in _numbers(queue):
            due = now + delay_s + random.uniform(-jitter_s, jitter_s)
            held.append((max(due, held[-1][0] if held else 0.0), number))
        last = None
        while held and held[0][0] <= now:
            last = held.popleft()[1]
        if last is not None:
            _let_go(queue, last)
    if held:
        _let_go(queue, held[-1][1])


def _numbers(queue: socket.socket) -> list[int]:
    """The numbers of the packets that have come since."""
    found: list[int] = []
    while True:
        try:
            data = queue.recv(65536)
        except BlockingIOError:
            return found
        except OSError as error:
            # Too many at once: the kernel dropped some, as a full link would.
            if error.errno == errno.ENOBUFS:
                continue
            raise
        while len(data) >= _HEADER.size:
            length, kind, *_ = _HEADER.unpack_from(data)
            if kind == _PACKET:
                found += _packet_number(data[_HEADER.size + 4 : length])
            data = data[(length + 3) & ~3 :]


def _packet_number(attributes: bytes) -> list[int]:
    while len(attributes) >= 4:
        length, kind = struct.unpack_from("=HH", attributes)
        if kind & 0x7FFF == 1:
            return [int(struct.unpack_from("!I", attributes, 4)[0])]
        attributes = attributes[max(4, (length + 3) & ~3) :]
    return []


def _let_go(queue: socket.socket, number: int) -> None:
    """Let this packet and all before it go."""
    queue.send(_message(_BATCH, _REQUEST, 2, struct.pack("!II", _ACCEPT, number)))


def _configure(queue: socket.socket, kind: int, value: bytes) -> None:
    queue.send(_message(_CONFIG, _REQUEST | _ACKNOWLEDGE, kind, value))
    answer = queue.recv(4096)
    code = struct.unpack_from("=i", answer, _HEADER.size)[0] if _HEADER.unpack_from(answer)[1] == _ERROR else 0
    if code:
        raise FaultError(f"the kernel does not queue packets: error {-code} (module nfnetlink_queue)")


def _message(message: int, flags: int, kind: int, value: bytes) -> bytes:
    attribute = struct.pack("=HH", 4 + len(value), kind) + value
    attribute += bytes(-len(attribute) % 4)
    body = struct.pack("!BBH", socket.AF_UNSPEC, 0, QUEUE) + attribute
    return _HEADER.pack(_HEADER.size + len(body), message, flags, 0, 0) + body
