"""A Prometheus with hours of history, written before it starts."""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.foreign.programs import Programs, free_port

SCRAPE_S = 15.0


@dataclass(frozen=True, slots=True)
class Written:
    """One series: its name with labels as Prometheus writes it, and its value at a moment (Unix seconds); None where absent."""

    name: str
    value: Callable[[float], float | None]


def prometheus_with_history(
    programs: Programs,
    series: Iterable[Written],
    start: float,
    end: float,
    rules: str = "",
    *,
    spacing_s: float = SCRAPE_S,
    kept: Callable[[float], bool] = lambda _: True,
) -> str:
    """A Prometheus that scraped these every ``spacing_s``; its address. ``rules`` is the content of a rule file.

    Of the moments from ``start`` to ``end`` it holds those that are ``kept``.
    """
    folder = programs.folder
    data = folder / "tsdb"
    times = [at for i in range(int((end - start) / spacing_s) + 1) if kept(at := start + i * spacing_s)]
    by_metric: dict[str, list[Written]] = {}
    for one in series:
        by_metric.setdefault(one.name.partition("{")[0], []).append(one)
    for stretch in _stretches(times, spacing_s):
        _write(folder / "history.txt", data, by_metric, stretch)
    address = f"127.0.0.1:{free_port()}"
    config = folder / "prometheus.yml"
    (folder / "rules.yml").write_text(rules or "groups: []\n", encoding="utf-8")
    config.write_text(f"global: {{scrape_interval: {spacing_s:g}s}}\nrule_files: [{folder}/rules.yml]\n", encoding="utf-8")
    keep = ["--storage.tsdb.retention.time=30d", f"--web.listen-address={address}"]
    programs.run("prometheus", ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={data}", *keep])
    _wait_until_ready(f"http://{address}/-/ready")
    return f"http://{address}"


def _stretches(times: Sequence[float], spacing_s: float) -> list[list[float]]:
    """The times without the gaps between them: promtool reads its file once for every two hours that it spans."""
    found: list[list[float]] = []
    for at in times:
        if not found or at - found[-1][-1] > 1.5 * spacing_s:
            found.append([])
        found[-1].append(at)
    return found


def _write(text: Path, data: Path, by_metric: Mapping[str, Sequence[Written]], times: Sequence[float]) -> None:
    with text.open("w", encoding="utf-8") as out:
        for metric, some in by_metric.items():
            out.write(f"# TYPE {metric} unknown\n")
            for one in some:
                out.writelines(f"{one.name} {v:g} {at:.3f}\n" for at in times if (v := one.value(at)) is not None)
        out.write("# EOF\n")
    command = ["promtool", "tsdb", "create-blocks-from", "openmetrics", str(text), str(data)]
    subprocess.run(["nice", *command], check=True, capture_output=True, timeout=1800)
    text.unlink()


def _wait_until_ready(url: str, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with contextlib.suppress(httpx.HTTPError):
            if httpx.get(url).status_code == 200:
                return
        time.sleep(0.2)
    raise TimeoutError(f"{url} is not ready")
