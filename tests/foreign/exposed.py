"""Which signals the exporters of an application really expose, by their own pages, and which of them Revelio found."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import httpx

from revelio.catalog.conventions import conventions, signals
from revelio.tools.discovery.prometheus import WATCHES
from tests.foreign.machine import PROMETHEUS

MADE_BY_PROMETHEUS = {"up", "scrape_duration_seconds"}


@dataclass(frozen=True, slots=True)
class Exposed:
    """Signals exposed and found, and templates that can be asked."""

    exposed: tuple[str, ...]
    not_found: tuple[str, ...]
    usable: int
    of: int

    @property
    def share(self) -> float:
        """The share of the signals exposed that was found."""
        return 1.0 - len(self.not_found) / len(self.exposed)

    @property
    def told(self) -> str:
        """All of it in a sentence."""
        lacking = f" (without {', '.join(self.not_found)})" if self.not_found else ""
        found = len(self.exposed) - len(self.not_found)
        return f"{found} of {len(self.exposed)} signals found{lacking}; {self.usable} of {self.of} questions can be asked"

    def keep(self, folder: Path, app: str) -> None:
        """Write it beside the incidents."""
        path = folder / "applications.json"
        folder.mkdir(parents=True, exist_ok=True)
        known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        path.write_text(json.dumps(known | {app: asdict(self)}, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def signals_of(pages: list[str]) -> set[str]:
    """The signals whose metrics stand on exporters' pages; what exporters tell of their own processes is none."""
    on_pages = [{re.split(r"[{ ]", line)[0] for line in page.splitlines() if line and line[0] != "#"} for page in pages]
    exporters = {c.exporter for c in conventions().values() if c.exporter}
    watched = {m for metrics in on_pages if not metrics & exporters and not any(map(WATCHES.fullmatch, metrics)) for m in metrics}
    metrics = {m for page in on_pages for m in page} | MADE_BY_PROMETHEUS
    spoken = [c for c in conventions().values() if not c.marker or c.marker in metrics]
    return {r.signal for c in spoken for r in c.rules if (watched if c.of_process else metrics).issuperset(r.metrics)}


def exposed(folder: Path, revelio: Callable[..., subprocess.CompletedProcess[str]]) -> Exposed:
    """Read all that Prometheus scrapes oneself, and compare it with what ``revelio doctor`` says it sees."""
    active = httpx.get(f"{PROMETHEUS}/api/v1/targets", timeout=10.0).json()["data"]["activeTargets"]
    pages = [httpx.get(target["scrapeUrl"], timeout=15.0, verify=False).text for target in active]
    looked = revelio(folder, "doctor", "--json")
    [seen] = json.loads(looked.stdout)["systems"].values()
    there = signals_of(pages)
    missing = there & seen["signals"]["not_seen"].keys() & signals().keys()
    return Exposed(tuple(sorted(there)), tuple(sorted(missing)), seen["templates"]["usable"], seen["templates"]["of"])
