"""A machine of its own for each application: its own network, processes' mounts and usual ports, so that ``revelio init``
looks around as it would on a stranger's server. Whatever is set up in it ends with it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from tests.foreign.programs import Programs

SCRAPE = "15s"
PROMETHEUS = "http://127.0.0.1:9090"

_SET_UP = """
ip link set lo up
for socket in /run/docker.sock /run/containerd/containerd.sock; do [ -S $socket ] && mount --bind /dev/null $socket; done
exec "$@"
"""


def on_a_machine_of_its_own(command: Sequence[str]) -> list[str]:
    """The command with a network, mounts and processes of its own. Needs root."""
    spaces = ["--net", "--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child=SIGTERM", "--mount-proc"]
    return ["unshare", *spaces, "--propagation", "private", "sh", "-c", _SET_UP, "sh", *command]


def not_possible() -> str:
    """Why such a machine cannot be had here; "" where it can."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "needs Linux and root: each application gets a network of its own"
    made = subprocess.run(on_a_machine_of_its_own(["true"]), capture_output=True, text=True, check=False, timeout=30)
    return "" if made.returncode == 0 else f"no network of its own can be made: {made.stderr.strip()}"


@dataclass
class Machine:
    """What runs on it, and what its Prometheus scrapes: ``jobs`` are entries of ``scrape_configs``."""

    programs: Programs
    jobs: list[str] = field(default_factory=list)
    undo: list[Callable[[], object]] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        """Where data and logs lie."""
        return self.programs.folder

    def scrape(self, job: str, address: str, path: str = "/metrics", more: str = "") -> None:
        """Let Prometheus scrape an address as a job."""
        self.jobs.append(f'{{job_name: {job}, metrics_path: {path}, static_configs: [{{targets: ["{address}"]}}]{more}}}')

    def probe(self, *urls: str) -> None:
        """Probe pages with blackbox_exporter, set up as its documentation shows."""
        self.programs.run(
            "blackbox",
            ["prometheus-blackbox-exporter", "--config.file=/etc/prometheus/blackbox.yml", "--web.listen-address=127.0.0.1:9115"],
        )
        relabel = (
            ", params: {module: [http_2xx]}, relabel_configs: [{source_labels: [__address__], target_label: __param_target}, "
            "{source_labels: [__param_target], target_label: instance}, "
            "{target_label: __address__, replacement: '127.0.0.1:9115'}]"
        )
        targets = ", ".join(f'"{url}"' for url in urls)
        self.jobs.append(f"{{job_name: blackbox, metrics_path: /probe, static_configs: [{{targets: [{targets}]}}]{relabel}}}")

    def host(self, *comms: str) -> None:
        """node_exporter, and process-exporter for the programs of these names.

        The processors and disks belong to whatever else runs here, so the collectors that speak of them stay out.
        """
        off = ("cpu", "loadavg", "pressure", "diskstats", "vmstat", "meminfo", "softnet", "stat", "schedstat", "thermal_zone")
        quiet = [f"--no-collector.{name}" for name in off]
        self.programs.run("node-exporter", ["prometheus-node-exporter", "--web.listen-address=127.0.0.1:9100", *quiet])
        self.scrape("node", "127.0.0.1:9100")
        config = self.folder / "process-exporter.yml"
        config.write_text("process_names:\n" + "".join(f"  - comm: [{comm}]\n" for comm in comms), encoding="utf-8")
        self.programs.run(
            "process-exporter",
            ["prometheus-process-exporter", f"-config.path={config}", "-web.listen-address=127.0.0.1:9256", "-threads=false"],
        )
        self.scrape("process", "127.0.0.1:9256")

    def prometheus(self) -> None:
        """A Prometheus at its usual port that scrapes all jobs every quarter of a minute."""
        self.scrape("prometheus", "127.0.0.1:9090")
        config = self.folder / "prometheus.yml"
        jobs = "\n".join(f"- {job}" for job in self.jobs)
        config.write_text(f"global: {{scrape_interval: {SCRAPE}}}\nscrape_configs:\n{jobs}\n", encoding="utf-8")
        data = f"--storage.tsdb.path={self.folder / 'tsdb'}"
        self.programs.run("prometheus", ["prometheus", f"--config.file={config}", data, "--web.listen-address=127.0.0.1:9090"])
        wait_until(lambda: httpx.get(f"{PROMETHEUS}/-/ready", timeout=2.0).status_code == 200, 30.0, "Prometheus")

    def close(self) -> None:
        """Take back what is still changed, and end all programs."""
        while self.undo:
            self.undo.pop()()
        self.programs.close()


def wait_until(there: Callable[[], bool], seconds: float, what: str) -> None:
    """Return once it is there; ``TimeoutError`` names what is not."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if there():
                return
        except (httpx.HTTPError, OSError):
            pass
        time.sleep(0.5)
    raise TimeoutError(f"{what} is not ready after {seconds:g} s")
