"""The packages of a lock file as `make lock` writes it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", re.MULTILINE)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


@dataclass(frozen=True)
class Package:
    """A name, a version, and the hashes of the files that it may be installed from."""

    name: str
    version: str
    hashes: tuple[str, ...]

    @property
    def purl(self) -> str:
        """Its address among all packages of all languages."""
        return f"pkg:pypi/{self.name.lower().replace('_', '-')}@{self.version}"


def locked(path: Path) -> Iterator[Package]:
    """Every package of the file. Raises ``OSError``."""
    text = path.read_text(encoding="utf-8")
    pins = list(_PIN.finditer(text))
    for pin, after in zip(pins, [*(p.start() for p in pins[1:]), len(text)], strict=True):
        yield Package(pin[1], pin[2], tuple(_HASH.findall(text[pin.end() : after])))
