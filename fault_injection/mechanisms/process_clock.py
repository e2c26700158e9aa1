"""Moves the clock that one running process reads, and no other's.

A process asks for the time in the kernel's vDSO, code that is mapped into it. Here its functions are replaced by ones that ask
the kernel and add some seconds to the time of day; monotonic time stays. The process is stopped for the milliseconds that this
takes. Nothing is preloaded, so it costs nothing while no clock is moved, and it shows nowhere.
"""

from __future__ import annotations

import os
import platform
import signal
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from revelio.errors import FaultError

_STOPPED_WITHIN_S = 2.0
_FREE_WITHIN_S = 5.0


@dataclass(frozen=True, slots=True)
class Write:
    """Bytes at an address of a process's memory."""

    address: int
    content: bytes


def _skewed_clock_gettime(seconds: bytes) -> bytes:
    """Ask the kernel (call 228); add to CLOCK_REALTIME and its coarse sister (5), unless it failed."""
    add = bytes.fromhex("488106") + seconds
    test = bytes.fromhex("85ff 7405 83ff05 7507")
    return bytes.fromhex("b8e4000000 0f05 85c0") + bytes([0x75, len(test + add)]) + test + add + b"\xc3"


def _skewed_gettimeofday(seconds: bytes) -> bytes:
    """Ask the kernel (call 96); add where there is something to add to."""
    add = bytes.fromhex("488107") + seconds
    test = bytes.fromhex("4885ff 7407")
    return bytes.fromhex("b860000000 0f05 85c0") + bytes([0x75, len(test + add)]) + test + add + b"\xc3"


def _skewed_time(seconds: bytes) -> bytes:
    """Ask the kernel (call 201); add, and store it where a pointer was given."""
    return bytes.fromhex("b8c9000000 0f05 4805") + seconds + bytes.fromhex("4885ff 7403 488907 c3")


_SKEWED = {
    b"__vdso_clock_gettime": _skewed_clock_gettime,
    b"__vdso_gettimeofday": _skewed_gettimeofday,
    b"__vdso_time": _skewed_time,
}


def started(pid: int) -> int:
    """When a process started, in clock ticks since the machine did: with its number, what tells it from all others."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    except OSError as error:
        raise FaultError(f"process {pid} is gone") from error


def skew(pid: int, seconds: int) -> tuple[tuple[Write, ...], tuple[Write, ...]]:
    """What to write to move the clock of process ``pid``, and what stands there now. Writes nothing.

    Raises ``FaultError`` where it cannot be done: another processor than x86-64, or a vDSO unlike those known.
    """
    if platform.machine() != "x86_64":
        raise FaultError(f"a process's clock can be moved on x86-64 only, not on {platform.machine()}")
    start, end = _vdso(pid)
    with _memory(pid) as memory:
        image = os.pread(memory, end - start, start)
    after, before = [], []
    for name, (offset, size) in _functions(image).items():
        code = _SKEWED[name](struct.pack("<i", seconds))
        if len(code) > size or size == 0:
            raise FaultError(f"{name.decode()} of this kernel has {size} bytes, too few for {len(code)}")
        after.append(Write(start + offset, code))
        before.append(Write(start + offset, image[offset : offset + len(code)]))
    return tuple(after), tuple(before)


def write(pid: int, writes: tuple[Write, ...]) -> None:
    """Write into a process's memory while it stands still; it goes on afterwards whatever happens. May be repeated."""
    area = _vdso(pid)
    deadline = time.monotonic() + _FREE_WITHIN_S
    while time.monotonic() < deadline:
        with _stopped(pid) as tasks:
            if not any(area[0] <= _at(task) < area[1] for task in tasks):
                with _memory(pid, os.O_RDWR) as memory:
                    for one in writes:
                        os.pwrite(memory, one.content, one.address)
                return
        time.sleep(0.005)
    raise FaultError(f"process {pid} was reading its clock whenever it was looked at")


@contextmanager
def _stopped(pid: int) -> Iterator[tuple[Path, ...]]:
    """Its threads, none of which runs."""
    try:
        os.kill(pid, signal.SIGSTOP)
        deadline = time.monotonic() + _STOPPED_WITHIN_S
        while any(_state(task) not in "TZX" for task in Path(f"/proc/{pid}/task").iterdir()):
            if time.monotonic() > deadline:
                raise FaultError(f"process {pid} does not stop")
            time.sleep(0.001)
        yield tuple(Path(f"/proc/{pid}/task").iterdir())
    except OSError as error:
        raise FaultError(f"the memory of process {pid} cannot be written: {error}; run as root") from error
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def _state(task: Path) -> str:
    return (task / "stat").read_text().rpartition(")")[2].split()[0]


def _at(task: Path) -> int:
    """The address of a stopped thread's next instruction."""
    return int((task / "syscall").read_text().split()[-1], 16)


def _vdso(pid: int) -> tuple[int, int]:
    try:
        lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    except OSError as error:
        raise FaultError(f"process {pid} is gone, or this one is not root: {error}") from error
    for line in lines:
        if line.endswith("[vdso]"):
            start, _, end = line.split()[0].partition("-")
            return int(start, 16), int(end, 16)
    raise FaultError(f"process {pid} has no vDSO")


@contextmanager
def _memory(pid: int, mode: int = os.O_RDONLY) -> Iterator[int]:
    memory = os.open(f"/proc/{pid}/mem", mode)
    try:
        yield memory
    finally:
        os.close(memory)


def _functions(image: bytes) -> dict[bytes, tuple[int, int]]:
    """Offset and size of the functions that tell the time, from the image's table of symbols (ELF, 64 bit)."""
    table, entry, count = (struct.unpack_from(form, image, at)[0] for form, at in (("<Q", 40), ("<H", 58), ("<H", 60)))
    sections = [struct.unpack_from("<IIQQQQIIQQ", image, table + entry * number) for number in range(count)]
    found = {}
    for _, kind, _, _, offset, size, link, *_ in sections:
        if kind == 11:
            names = sections[link][4]
            for at in range(offset, offset + size, 24):
                name, _, _, _, value, length = struct.unpack_from("<IBBHQQ", image, at)
                text = image[names + name : image.index(b"\0", names + name)]
                if text in _SKEWED:
                    found[text] = (value, length)
    if b"__vdso_clock_gettime" not in found:
        raise FaultError("the kernel's vDSO has no clock_gettime")
    return found
