"""What a running stack costs and how its users fare, over some minutes, each figure beside its limit."""

import itertools
import os
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from docker.models.containers import Container

from testbed.errors import StackError
from testbed.progress import Progress, Step, silent
from testbed.stack.engine import ROLE_LABEL, SERVICE_LABEL, containers, engine
from testbed.stack.project import find_project
from testbed.users.notes import Visit, read

P95_SECONDS = 0.3
FREE_CORES = 0.5
MEMORY_BYTES = 8 * 2**30
VISIT_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Feature:
    """How a feature's probe user fared. Times in seconds; ``apart`` is the longest time between two visits."""

    name: str
    visits: int
    outcomes: dict[str, int]
    median: float
    p95: float
    apart: float


@dataclass(frozen=True, slots=True)
class Cost:
    """What one container used: cores on average, bytes of memory at the end (page cache left out)."""

    service: str
    role: str
    cores: float
    memory: int


@dataclass(frozen=True, slots=True)
class Limit:
    """A figure beside the limit that it should keep."""

    name: str
    value: float
    limit: float
    unit: str
    kept: bool


@dataclass(frozen=True, slots=True)
class Measurement:
    """``free_cores`` is what the whole machine left idle meanwhile."""

    app: str
    seconds: float
    features: tuple[Feature, ...]
    costs: tuple[Cost, ...]
    free_cores: float
    cores: int

    @property
    def limits(self) -> tuple[Limit, ...]:
        """Users content and served soon, the machine not full."""
        bad = sum(n for f in self.features for outcome, n in f.outcomes.items() if outcome != "ok")
        p95 = max((f.p95 for f in self.features), default=0.0)
        apart = max((f.apart for f in self.features), default=0.0)
        memory = sum(cost.memory for cost in self.costs)
        return (
            Limit("visits that were not ok", bad, 0, "", bad == 0 and bool(self.features)),
            Limit("p95 of the slowest feature", p95, P95_SECONDS, "s", p95 < P95_SECONDS),
            Limit("longest time between two visits to a feature", apart, VISIT_SECONDS, "s", apart <= VISIT_SECONDS),
            Limit("free cores", self.free_cores, FREE_CORES, "", self.free_cores >= FREE_CORES),
            Limit("memory of all containers", memory / 2**30, MEMORY_BYTES / 2**30, "GiB", memory <= MEMORY_BYTES),
        )


def measure(app: str, seconds: float, progress: Progress = silent) -> Measurement:
    """Watch a running stack with its users for so long. Raises StackError when it is not up."""
    project = find_project(app)
    with engine(timeout=20) as client:
        found = containers(client, project.name)
        if not found:
            raise StackError(f"{project.name} is down; bring it up first: revelio testbed up {app}")
        with ThreadPoolExecutor(max_workers=8) as pool:
            began, idle, before = time.time(), _idle(), list(pool.map(_usage, found))
            while (left := began + seconds - time.time()) > 0:
                progress(Step(f"watching {app}", "running", f"{left:.0f} s left"))
                time.sleep(min(1.0, left))
            ended, idle_after, after = time.time(), _idle(), list(pool.map(_usage, found))
    progress(Step(f"watching {app}", "done", f"{ended - began:.0f} s"))
    visits = read(project.state / "notes.jsonl", began, ended)
    by_feature = {name: [v for v in visits if v.feature == name] for name in sorted({v.feature for v in visits})}
    span = ended - began
    costs = tuple(
        Cost(c.labels.get(SERVICE_LABEL, ""), c.labels.get(ROLE_LABEL, ""), (new[0] - old[0]) / 1e9 / span, new[1])
        for c, old, new in zip(found, before, after, strict=True)
    )
    return Measurement(
        app,
        span,
        tuple(feature_figures(name, of) for name, of in by_feature.items()),
        tuple(sorted(costs, key=lambda cost: -cost.cores)),
        (idle_after - idle) / span,
        os.cpu_count() or 1,
    )


def feature_figures(name: str, visits: Sequence[Visit]) -> Feature:
    """What the visits to one feature, at least one, come to."""
    seconds = sorted(v.seconds for v in visits)
    begun = sorted(v.at for v in visits)
    apart = max((b - a for a, b in itertools.pairwise(begun)), default=0.0)
    at = seconds[min(len(seconds) - 1, int(0.95 * len(seconds)))]
    return Feature(name, len(visits), dict(Counter(v.outcome for v in visits)), median(seconds), at, apart)


def _usage(container: Container) -> tuple[int, int]:
    """Nanoseconds of processor used since the container's start, and bytes of memory."""
    stats: Any = container.stats(stream=False, one_shot=True)
    memory = stats["memory_stats"]
    kept = memory.get("stats", {})
    cache = kept.get("inactive_file", kept.get("total_inactive_file", 0))
    return int(stats["cpu_stats"]["cpu_usage"]["total_usage"]), int(memory.get("usage", 0)) - int(cache)


def _idle() -> float:
    """Seconds that all cores together have been idle since the machine's start."""
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    return (int(fields[4]) + int(fields[5])) / os.sysconf("SC_CLK_TCK")
