"""Real faults of real programs, and how each is taken back."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fault_injection.labels import Grade
from tests.foreign.machine import Machine

Undo = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Cause:
    """A query that shows it: ``blanks`` pairs of a blank and the entity, as a stranger's Prometheus names it."""

    grade: Grade
    template: str
    blanks: tuple[tuple[str, str], ...] = ()


def shows(template: str, **blanks: str) -> Cause:
    """A query that shows the cause itself."""
    return Cause(3, f"prometheus.{template}" if "." not in template else template, tuple(sorted(blanks.items())))


def leads(template: str, **blanks: str) -> Cause:
    """A query that shows it from elsewhere."""
    return Cause(2, f"prometheus.{template}" if "." not in template else template, tuple(sorted(blanks.items())))


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault. ``begin`` gives its undo; ``bites`` says what it does, "" while it does not: users' failures where not given."""

    name: str
    kind: str
    place: str
    begin: Callable[[Machine], Undo]
    causes: tuple[Cause, ...]
    bites: Callable[[Machine], str] | None = None


def killed(*programs: str) -> Callable[[Machine], Undo]:
    """Programs die, and are started again at the end."""

    def begin(machine: Machine) -> Undo:
        for name in programs:
            machine.programs.end(name, signal.SIGKILL)

        def undo() -> None:
            for name in programs:
                machine.programs.start(name)

        return undo

    return begin


def paused(program: str) -> Callable[[Machine], Undo]:
    """A program hangs."""

    def begin(machine: Machine) -> Undo:
        machine.programs.send(program, signal.SIGSTOP)
        return lambda: machine.programs.send(program, signal.SIGCONT)

    return begin


def restarted(program: str, command: Callable[[tuple[str, ...]], Sequence[str]], **environment: str) -> Callable[[Machine], Undo]:
    """A program is started again with another command or other variables: a release or configuration that is wrong."""

    return lambda machine: machine.programs.changed(program, command, environment)


def packets(port: int, action: Sequence[str], direction: str = "--dport") -> Callable[[Machine], Undo]:
    """Packets of a port meet a rule of the machine's own firewall."""
    rule = ["INPUT", "-i", "lo", "-p", "tcp", direction, str(port), *action]

    def begin(machine: Machine) -> Undo:
        _iptables("-I", rule)
        return lambda: _iptables("-D", rule)

    return begin


def refused(port: int) -> Callable[[Machine], Undo]:
    """Connections to a port are refused."""
    return packets(port, ["-j", "REJECT", "--reject-with", "tcp-reset"])


def lost(port: int, share: float) -> Callable[[Machine], Undo]:
    """A share of the packets to a port is lost."""
    return packets(port, ["-m", "statistic", "--mode", "random", "--probability", f"{share:g}", "-j", "DROP"])


def filled(folder: Path) -> Undo:
    """What is left of a file system is taken up."""
    file = folder / "core.7731"
    subprocess.run(["dd", "if=/dev/zero", f"of={file}", "bs=64k"], capture_output=True, check=False, timeout=120)
    return lambda: file.unlink(missing_ok=True)


def grown(program: str, megabytes: int) -> Callable[[Machine], str]:
    """Says by how much a program and its children exceed what they should take."""

    def bites(machine: Machine) -> str:
        used = machine.programs.resident(program) / 1e6
        return f"{used:.0f} MB are resident" if used > megabytes else ""

    return bites


def small_disk(machine: Machine, name: str, megabytes: int) -> Path:
    """A file system of its own on this machine."""
    image, place = machine.folder / f"{name}.img", machine.folder / name
    place.mkdir()
    subprocess.run(["truncate", "-s", f"{megabytes}M", str(image)], check=True, timeout=60)
    subprocess.run(["mkfs.ext4", "-q", "-m", "0", str(image)], check=True, capture_output=True, timeout=60)
    subprocess.run(["mount", "-o", "loop", str(image), str(place)], check=True, timeout=60)
    machine.undo.append(lambda: subprocess.run(["umount", "-l", str(place)], check=False, timeout=60))
    return place


def _iptables(what: str, rule: Sequence[str]) -> None:
    subprocess.run(["iptables", "-w", what, *rule], check=True, capture_output=True, timeout=30)
