"""Which signals the exporters of an application really expose, by their own pages, and which of them Revelio found."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import httpx

from revelio.conventions import conventions, signals
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
    """The signals whose metrics stand on exporters' pages."""
    lines = (line for page in pages for line in page.splitlines())
    metrics = {re.split(r"[{ ]", line)[0] for line in lines if line and line[0] != "#"} | MADE_BY_PROMETHEUS
    spoken = [c for c in conventions().values() if not c.marker or c.marker in metrics]
    return {rule.signal for c in spoken for rule in c.rules if metrics.issuperset(rule.metrics)}


def exposed(folder: Path, revelio: Callable[..., subprocess.CompletedProcess[str]]) -> Exposed:
    """Read all that Prometheus scrapes oneself, and compare it with what ``revelio doctor`` says it sees."""
    active = httpx.get(f"{PROMETHEUS}/api/v1/targets", timeout=10.0).json()["data"]["activeTargets"]
    pages = [httpx.get(target["scrapeUrl"], timeout=15.0, verify=False).text for target in active]
    looked = revelio(folder, "doctor", "--json")
    [seen] = json.loads(looked.stdout)["systems"].values()
    there = signals_of(pages)
    missing = there & seen["signals"]["not_seen"].keys() & signals().keys()
    return Exposed(tuple(sorted(there)), tuple(sorted(missing)), seen["templates"]["usable"], seen["templates"]["of"])
