"""A folder of capture files on this machine, read by the tshark that is installed here."""

from __future__ import annotations

import contextlib
import os
import selectors
import shutil
import signal
import subprocess
import time
from collections.abc import Generator, Sequence
from pathlib import Path

from revelio.errors import SourceError
from revelio.tools.base import Limits
from revelio.tools.bounded_call import LateError
from revelio.tools.tcpdump.container import failure
from revelio.tools.tcpdump.filter import shell

MAX_FILES = 500
HOSTS = "hosts"
"""A file in the folder with lines of address and name, as tshark's ``-H`` reads it."""

PROGRAMS = ("mergecap", "editcap", "tshark")
_ENDINGS = (".pcap", ".pcapng", ".cap")
_SAID = 2_000
_PIECE = 65_536


class FolderCapture:
    """``mergecap | editcap | tshark``, joined by pipes here; all of them are ended when the time is up."""

    def __init__(self, source: str, folder: str, limits: Limits) -> None:
        """Reads nothing yet."""
        self.source = source
        self.limits = limits
        self.place = folder
        self._folder = Path(folder)

    def version(self, deadline: float) -> str:
        """tshark's; ``SourceError`` when it is not installed or the folder is not there."""
        self._files(0.0)
        words = b"".join(self._run([["tshark", "--version"]], deadline)).decode(errors="replace").splitlines()
        return words[0].split(" (Git")[0][:80] if words else "tshark of unknown version"

    def output(self, start: float, end: float, options: Sequence[str], deadline: float) -> Generator[bytes, None, None]:
        """tshark's standard output in pieces."""
        files = [str(file) for file in self._files(start)]
        if not files:
            raise SourceError(self.source, f"nothing was captured into {self.place} since then; does the capture still run?")
        return self._run(self._pipeline(files, start, end, options), deadline)

    def command(self, start: float, end: float, options: Sequence[str]) -> str:
        """A pipe of three programs."""
        merge, edit, read = self._pipeline([], start, end, options)
        # All files: rendering does not read the folder.
        return f"{shell(merge)} {shell([str(self._folder)])}/*.pcap* | {shell(edit)} | {shell(read)}"

    def _pipeline(self, files: Sequence[str], start: float, end: float, options: Sequence[str]) -> list[list[str]]:
        hosts = self._folder / HOSTS
        named = ["-H", str(hosts)] if hosts.is_file() else []
        return [
            ["mergecap", "-F", "pcapng", "-w", "-", *files],
            ["editcap", "-A", f"{start:.3f}", "-B", f"{end:.3f}", "-", "-"],
            ["tshark", *named, "-N", "n", "-r", "-", *options],
        ]

    def _files(self, start: float) -> list[Path]:
        """Capture files that were written to since then, the oldest first."""
        try:
            found = [(e.stat().st_mtime, Path(e.path)) for e in os.scandir(self._folder) if _is_capture(e)]
        except OSError as error:
            raise SourceError(self.source, f"{self.place} cannot be read: {error.strerror}; is its url right?") from error
        used = [path for at, path in sorted(found) if at >= start]
        return used[-MAX_FILES:]

    def _run(self, pipeline: Sequence[list[str]], deadline: float) -> Generator[bytes, None, None]:
        missing = [words[0] for words in pipeline if shutil.which(words[0]) is None]
        if missing:
            raise SourceError(
                self.source, f"{missing[0]} is not installed here; install tshark, for example `apt-get install tshark`"
            )
        with contextlib.ExitStack() as running:
            said = _Said()
            running.callback(said.close)
            last = None
            for words in pipeline:
                before, last = last, self._start(words, last, said.writing)
                running.callback(_end, last)
                if before is not None and before.stdout is not None:
                    before.stdout.close()  # it is the next program's now: that one's end has to end this one too
            if last is None or last.stdout is None:
                return
            yield from _read(last.stdout.fileno(), said, deadline)
            code = _ended(last, deadline)
            if code:
                raise SourceError(self.source, failure(said.read(), f"{pipeline[-1][0]} ended with code {code}"))

    def _start(self, words: list[str], before: subprocess.Popen[bytes] | None, said: int) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL if before is None else before.stdout,
                stdout=subprocess.PIPE,
                stderr=said,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise SourceError(self.source, f"{words[0]} cannot be started: {error}") from error


def _is_capture(entry: os.DirEntry[str]) -> bool:
    """``x.pcap``, and ``x.pcap00`` of a ring."""
    return entry.is_file() and any(end in entry.name for end in _ENDINGS)


class _Said:
    """What the programs write to their standard error: its beginning is kept, and the rest is discarded without blocking."""

    def __init__(self) -> None:
        self.reading, self.writing = os.pipe()
        os.set_blocking(self.reading, False)
        self._kept = b""

    def read(self) -> bytes:
        """All that was kept, after another look."""
        with contextlib.suppress(BlockingIOError):
            while len(self._kept) < _SAID and (piece := os.read(self.reading, _PIECE)):
                self._kept += piece
        return self._kept[:_SAID]

    def drop(self) -> None:
        """Make room for more."""
        with contextlib.suppress(BlockingIOError):
            piece = os.read(self.reading, _PIECE)
            self._kept = (self._kept + piece)[:_SAID]

    def close(self) -> None:
        os.close(self.reading)
        os.close(self.writing)


def _read(pipe: int, said: _Said, deadline: float) -> Generator[bytes, None, None]:
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        selector.register(said.reading, selectors.EVENT_READ)
        while True:
            left = deadline - time.monotonic()
            if left <= 0 or not (ready := selector.select(left)):
                raise LateError
            came = {key.fd for key, _ in ready}
            if said.reading in came:
                said.drop()
            if pipe in came:
                piece = os.read(pipe, _PIECE)
                if not piece:
                    return
                yield piece


def _ended(process: subprocess.Popen[bytes], deadline: float) -> int:
    try:
        return process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired as error:
        raise LateError from error


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()
