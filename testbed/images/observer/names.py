"""Questions to the engine's name server and its answers, taken where they pass: on the loopback of each container's namespace."""

import ctypes
import selectors
import socket
import struct
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path

from . import netlink
from .engine import Container
from .pcapng import PacketFile
from .rings import prune

SERVER = bytes((127, 0, 0, 11))
MOST = 8_000_000
"""Bytes on disk."""
EACH = 1_000_000
"""Bytes after which a new file is begun."""
ETH_P_IP = 0x0800
SO_ATTACH_FILTER, SO_TIMESTAMPNS = 26, 35
# tcpdump -ddd 'udp and host 127.0.0.11' on Ethernet: in the kernel, so that nothing else on the loopback costs anything.
ONLY_NAMES = (
    *((0x28, 0, 0, 12), (0x15, 0, 7, 0x0800), (0x30, 0, 0, 23), (0x15, 0, 5, 17)),
    *((0x20, 0, 0, 26), (0x15, 2, 0, 0x7F00000B), (0x20, 0, 0, 30), (0x15, 0, 1, 0x7F00000B)),
    *((0x6, 0, 0, 65535), (0x6, 0, 0, 0)),
)


class NameCapture:
    """A rolling capture over all containers that it was told of; each is an interface by its own name."""

    def __init__(self, folder: Path, selector: selectors.BaseSelector) -> None:
        """Packets are read whenever the selector tells of one of these sockets: its data is the method to call."""
        self._folder, self._selector = folder, selector
        self._sockets: dict[tuple[str, int], socket.socket] = {}
        self._file: PacketFile | None = None

    def watch(self, containers: Iterable[Container]) -> None:
        """Listen in these containers from now on, and in no others."""
        wanted = {(container.name, container.pid) for container in containers if container.pid}
        for gone in [key for key in self._sockets if key not in wanted]:
            self._selector.unregister(self._sockets[gone])
            self._sockets.pop(gone).close()
        for name, pid in wanted.difference(self._sockets):
            with suppress(OSError):  # it has ended since: its next process is another one
                self._sockets[name, pid] = opened = listen(pid)
                self._selector.register(opened, selectors.EVENT_READ, partial(self._take, opened, name))

    def _take(self, source: socket.socket, container: str) -> None:
        with suppress(BlockingIOError):
            while True:
                packet, extra, _, address = source.recvmsg(65535, 64)
                if address[2] != socket.PACKET_OUTGOING:  # the loopback shows each packet going out and coming in
                    self._write(container, extra, packet)

    def _write(self, container: str, extra: list[tuple[int, int, bytes]], packet: bytes) -> None:
        seconds, nanos = struct.unpack("=qq", extra[0][2])
        if self._file is None or self._file.size > EACH:
            if self._file:
                self._file.close()
            self._file = PacketFile(self._folder / f"names-{seconds}.{nanos:09}.pcapng")
            prune(self._folder, "names-*.pcapng", MOST)
        self._file.write(container, seconds * 1_000_000_000 + nanos, as_asked(packet))


def as_asked(packet: bytes) -> bytes:
    """The packet as the application sent it. The engine answers on another port, to which the kernel has sent it by now."""
    head = 14 + (packet[14] & 0xF) * 4
    if packet[30:34] == SERVER:
        return packet[: head + 2] + struct.pack("!H", 53) + packet[head + 4 :]
    return packet


def listen(pid: int) -> socket.socket:
    """A socket on the loopback of that process's namespace. Raises OSError when the process is gone."""
    with netlink.inside(pid):
        opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, socket.htons(ETH_P_IP))
        try:
            code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *line) for line in ONLY_NAMES))
            opened.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("@HP", len(ONLY_NAMES), ctypes.addressof(code)))
            opened.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
            opened.bind(("lo", ETH_P_IP))
        except OSError:
            opened.close()
            raise
    return opened
