"""``python .ci/audit.py LOCK``: names the known vulnerabilities of every locked package.

Ends with 0 when there are none, 1 when there are, and 3 when no advisories can be had, so that nothing is known.
``ADVISORIES`` in the environment names another service that speaks OSV's language, or, where none can be reached, a file:
OSV's own archive of all advisories about PyPI (``all.zip``), carried here from where it can be downloaded.
"""

from __future__ import annotations

import json
import os
import sys
import time
import urllib.request
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from locked import Package, locked
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

SERVICE = "https://api.osv.dev"
_WAIT_S = 20.0
_UNKNOWN = (OSError, ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile)

Found = list[tuple[Package, str]]


def main() -> int:
    """Ask about all of them at once."""
    packages = list(locked(Path(sys.argv[1])))
    asked = os.environ.get("ADVISORIES", SERVICE)
    try:
        if asked.startswith(("https://", "http://")):
            found, said = of_service(asked, packages), asked
        elif Path(asked).is_file():
            found = of_archive(Path(asked), packages)
            said = f"{asked} of {time.strftime('%Y-%m-%d', time.gmtime(Path(asked).stat().st_mtime))}"
        else:
            sys.exit(f"ADVISORIES is {asked!r}: neither an address that begins with https:// nor a file that is there")
    except _UNKNOWN as error:
        print(
            f"not audited: the advisory service {asked} cannot be asked ({error}); try again where it can be reached, or set "
            "ADVISORIES to OSV's archive for PyPI, all.zip, downloaded elsewhere"
        )
        return 3
    for package, advisory in found:
        print(f"{package.name} {package.version}: {advisory}")
    print(f"{len(packages)} packages audited, {len(found)} advisories ({said})")
    return 1 if found else 0


def of_service(service: str, packages: Sequence[Package]) -> Found:
    """What a service knows; ``OSError`` where it cannot be reached, ``ValueError`` and others where it says something else."""
    body = {"queries": [{"package": {"purl": package.purl}} for package in packages]}
    asked = urllib.request.Request(  # noqa: S310 -- looked at above
        f"{service}/v1/querybatch", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(asked, timeout=_WAIT_S) as answer:  # noqa: S310 -- looked at above
        results = json.load(answer)["results"]
    return [(p, v["id"]) for p, r in zip(packages, results, strict=True) for v in r.get("vulns", ())]


def of_archive(archive: Path, packages: Sequence[Package]) -> Found:
    """What an archive of advisories says, one JSON file each (https://ossf.github.io/osv-schema/)."""
    by_name: dict[str, list[Package]] = {}
    for package in packages:
        by_name.setdefault(canonicalize_name(package.name), []).append(package)
    found: Found = []
    with zipfile.ZipFile(archive) as files:
        advisories = [name for name in files.namelist() if name.endswith(".json")]
        if not advisories:
            raise ValueError("it holds no advisory")
        for name in advisories:
            advisory = json.loads(files.read(name))
            if not advisory.get("withdrawn"):
                found += [(package, advisory["id"]) for package in _affected(advisory, by_name)]
    return sorted(found, key=lambda one: (one[0].name, one[1]))


def _affected(advisory: dict[str, Any], by_name: dict[str, list[Package]]) -> Iterator[Package]:
    hit: dict[Package, None] = {}
    for affected in advisory.get("affected", ()):
        about = affected.get("package", {})
        if about.get("ecosystem") == "PyPI":
            for package in by_name.get(canonicalize_name(about["name"]), ()):
                if package.version in affected.get("versions", ()) or any(
                    _within(package.version, one["events"]) for one in affected.get("ranges", ()) if one["type"] == "ECOSYSTEM"
                ):
                    hit[package] = None
    yield from hit


def _within(version: str, events: Sequence[dict[str, str]]) -> bool:
    """Whether a version lies in a range: the last event at or before it began one."""
    mine, inside = Version(version), False
    for event in sorted(events, key=lambda e: _at(next(iter(e.values())))):
        (kind, at), *_ = event.items()
        if kind == "introduced" and _at(at) <= mine:
            inside = True
        elif (kind == "fixed" and _at(at) <= mine) or (kind == "last_affected" and _at(at) < mine):
            inside = False
    return inside


def _at(version: str) -> Version:
    try:
        return Version(version)
    except InvalidVersion:
        return Version("0")  # as old releases were named: before all others


if __name__ == "__main__":
    sys.exit(main())
