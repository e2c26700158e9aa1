"""Where captured packets are read: in a container that keeps them, or in a folder of this machine. Never through a shell."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import Protocol
from urllib.parse import unquote, urlsplit

from revelio.errors import SourceError
from revelio.tools.base import Limits
from revelio.tools.bounded_call import TooMuchError
from revelio.tools.tcpdump.container import ContainerCapture
from revelio.tools.tcpdump.folder import FolderCapture

MAX_LINE = 65_536


class Capture(Protocol):
    """Packets of the last minutes, and tshark to read them with."""

    place: str

    def version(self, deadline: float) -> str:
        """tshark's; ``SourceError`` when nothing could be read."""

    def output(self, start: float, end: float, options: Sequence[str], deadline: float) -> Generator[bytes, None, None]:
        """What tshark says of that time, in pieces as they come.

        Raises ``LateError`` after the deadline (of ``time.monotonic``), ``SourceError`` when it cannot be read. Whatever was
        started has ended when the iterator is closed, or ends by itself at the deadline.
        """

    def command(self, start: float, end: float, options: Sequence[str]) -> str:
        """The same as a line for a shell."""


def open_capture(source: str, url: str, limits: Limits) -> Capture:
    """By the address's scheme; connects to nothing yet. ``SourceError`` when it is none of the two."""
    try:
        parts = urlsplit(url)
        host = parts.netloc
    except ValueError as error:
        raise SourceError(source, f"its url cannot be read: {error}") from error
    path = unquote(parts.path)
    if parts.scheme == "docker" and path.strip("/"):
        return ContainerCapture(source, path.strip("/"), host, limits)
    if parts.scheme == "file" and path and not host:
        return FolderCapture(source, path, limits)
    raise SourceError(
        source, "its url has to be docker:///CONTAINER, which keeps a capture, or file:///FOLDER with capture files"
    )


def lines(pieces: Iterator[bytes], most: int) -> Iterator[bytes]:
    """Whole lines; a rest that no line end closes is left out. ``TooMuchError`` after ``most`` bytes or in an endless line."""
    left, size = b"", 0
    for piece in pieces:
        size += len(piece)
        *whole, left = (left + piece).split(b"\n")
        yield from whole
        if size > most or len(left) > MAX_LINE:
            raise TooMuchError
