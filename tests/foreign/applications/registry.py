"""Verdaccio, a registry of npm packages: a mirror in front of a private one, with OpenTelemetry's automatic instrumentation.

Traces go to Jaeger, metrics to Prometheus through the exporter of OpenTelemetry.
"""

from __future__ import annotations

import base64
import json
import random
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import httpx

from tests.foreign.application import CACHE
from tests.foreign.faults import Fault, Undo, filled, grown, killed, leads, lost, paused, refused, restarted, shows, small_disk
from tests.foreign.machine import Machine, wait_until
from tests.foreign.users import Page

FOLDER = CACHE / "verdaccio"
JAEGER = Path.home() / ".cache" / "revelio" / "jaeger" / "1.76.0" / "all-in-one"
MIRROR, PRIVATE = "http://127.0.0.1:4873", "http://127.0.0.1:4874"
NPM = (
    "verdaccio@6.8.0",
    "@opentelemetry/api@1.9.1",
    "@opentelemetry/auto-instrumentations-node@0.81.2",
    "@opentelemetry/exporter-prometheus@0.223.0",
)
PACKAGES = 12

_CONFIG = """storage: {storage}
auth: {{htpasswd: {{file: {storage}/htpasswd, max_users: -1}}}}
uplinks:{uplinks}
packages: {{"**": {{access: $all, publish: $all, unpublish: $all{proxy}}}}}
log: {{type: stdout, format: json, level: http}}
web: {{enable: true, title: Packages}}
"""


class Registry:
    """Two registries in a row."""

    name = "registry"
    title = "Verdaccio 6 (Node.js, OpenTelemetry, Jaeger)"
    words: Mapping[str, str] = {
        "info": "npm view",
        "tarball": "npm install",
        "search": "the package search",
        "publish": "npm publish",
        "web": "the registry's web page",
    }
    packages: tuple[str, ...] = ("nodejs", "npm", "prometheus", "prometheus-node-exporter", "prometheus-process-exporter")

    def lacking(self) -> str:
        """The programs that are not there."""
        if not shutil.which("node"):
            return f"apt-get install --no-install-recommends {' '.join(self.packages)}"
        if not (FOLDER / "node_modules" / "verdaccio").is_dir():
            return "python -m tests.foreign install registry"
        return "" if JAEGER.is_file() else "no Jaeger was built: revelio testbed images"

    def install(self) -> None:
        """The registry and the instrumentation, from npm."""
        FOLDER.mkdir(parents=True, exist_ok=True)
        subprocess.run(["npm", "install", "--no-audit", "--no-fund", *NPM], cwd=FOLDER, check=True, timeout=600)

    def start(self, machine: Machine) -> None:
        """Jaeger, the private registry with its packages, and the mirror that users talk to."""
        store = [f"--badger.directory-{kind}={machine.folder / 'traces' / kind}" for kind in ("key", "value")]
        machine.programs.run("jaeger", [str(JAEGER), "--badger.ephemeral=false", *store], {"SPAN_STORAGE_TYPE": "badger"})
        wait_until(lambda: httpx.get("http://127.0.0.1:16686/api/services").status_code == 200, 30.0, "Jaeger")
        small_disk(machine, "packages", 48)
        _registry(machine, "private", 4874, 9464, machine.folder / "packages", "", "")
        uplink = f"\n  private: {{url: {PRIVATE}/, timeout: 6s, maxage: 1s, cache: false, fail_timeout: 2s, max_fails: 1000}}"
        mirror = machine.folder / "mirror-storage"
        mirror.mkdir()
        _registry(machine, "mirror", 4873, 9465, mirror, uplink, ", proxy: private")
        for at in (PRIVATE, MIRROR):
            wait_until(lambda at=at: httpx.get(f"{at}/-/ping").status_code == 200, 90.0, at)  # type: ignore[misc]
        with httpx.Client(base_url=PRIVATE, timeout=20.0) as client:
            for number in range(PACKAGES):
                assert _publish(client, number, "1.0.0").status_code == 201
        machine.scrape("mirror", "127.0.0.1:9465")
        machine.scrape("private", "127.0.0.1:9464")
        machine.scrape("jaeger", "127.0.0.1:14269")
        machine.host("node", "verdaccio", "tar")

    def pages(self) -> tuple[str, Mapping[str, tuple[Page, float]], float]:
        """People who look up and install packages, and a build server that publishes some."""
        pages: dict[str, tuple[Page, float]] = {
            "info": (lambda c: c.get(f"/tool-{random.randrange(PACKAGES)}"), 6),
            "tarball": (lambda c: c.get(f"/tool-{(n := random.randrange(PACKAGES))}/-/tool-{n}-1.0.0.tgz"), 4),
            "search": (lambda c: c.get("/-/v1/search", params={"text": "tool"}), 1),
            "publish": (_release, 1),
            "web": (lambda c: c.get("/"), 1),
        }
        return MIRROR, pages, 0.8

    def faults(self) -> tuple[Fault, ...]:
        """Faults of the mirror, of what it depends on, and of the way between."""
        edge = {"service": "mirror", "peer": "private"}
        return (
            Fault(
                "private-killed",
                "process_killed",
                "private",
                killed("private"),
                (
                    shows("up", service="private"),
                    leads("jaeger.failed_calls", **edge),
                    leads("jaeger.error_spans", service="mirror"),
                ),
            ),
            Fault(
                "private-hangs",
                "process_paused",
                "private",
                paused("private"),
                (shows("up", service="private"), leads("jaeger.slow_spans", service="mirror")),
            ),
            Fault(
                "private-slow",
                "slow_dependency",
                "private",
                restarted("private", _busy("/tool-")),
                (
                    shows("jaeger.own_time", service="private"),
                    shows("jaeger.slow_spans", service="private"),
                    shows("latency_p95", service="private"),
                    shows("event_loop_lag", service="private"),
                    leads("jaeger.slow_calls", **edge),
                    leads("jaeger.where_time_goes"),
                ),
            ),
            Fault(
                "private-refuses",
                "refused_connection",
                "private",
                refused(4874),
                (
                    shows("failed_connections", container="node"),
                    shows("edge_errors", service="mirror", peer="127.0.0.1"),
                    shows("jaeger.error_spans", service="mirror"),
                    leads("resets", container="node"),
                ),
            ),
            Fault("disk-full", "disk_full", "packages", _fill, (shows("disk_used", volume="*packages"),), _is_full),
            Fault(
                "broken-release",
                "bad_release",
                "mirror",
                restarted("mirror", _broken),
                (
                    shows("error_rate", service="mirror"),
                    shows("error_rate_by_route", service="mirror"),
                    shows("jaeger.error_spans", service="mirror"),
                    shows("uptime", service="mirror"),
                ),
            ),
            Fault(
                "packets-lost",
                "packet_loss",
                "private",
                lost(4874, 0.25),
                (shows("retransmits", container="node"), shows("failed_connections", container="node")),
            ),
            Fault("mirror-killed", "process_killed", "mirror", killed("mirror"), (shows("up", service="mirror"),)),
            Fault(
                "wrong-uplink",
                "wrong_configuration",
                "mirror",
                restarted("mirror", _wrong_uplink),
                (
                    shows("jaeger.error_spans", service="mirror"),
                    shows("edge_errors", service="mirror", peer="127.0.0.1"),
                    shows("failed_connections", container="node"),
                    leads("uptime", service="mirror"),
                ),
            ),
            Fault(
                "memory-leak",
                "memory_leak",
                "mirror",
                restarted("mirror", _leaking),
                (
                    shows("memory", container="node"),
                    shows("heap_used", service="mirror"),
                    shows("heap_of_limit", service="mirror"),
                ),
                grown("mirror", 260),
            ),
        )


def _registry(machine: Machine, name: str, port: int, metrics: int, storage: Path, uplinks: str, proxy: str) -> None:
    config = machine.folder / f"{name}.yaml"
    config.write_text(_CONFIG.format(storage=storage, uplinks=uplinks or " {}", proxy=proxy), encoding="utf-8")
    program = FOLDER / "node_modules" / "verdaccio" / "bin" / "verdaccio"
    machine.programs.run(
        name,
        ["node", "--max-old-space-size=256", str(program), "--config", str(config), "--listen", f"127.0.0.1:{port}"],
        {
            "NODE_OPTIONS": "--require @opentelemetry/auto-instrumentations-node/register",
            "NODE_PATH": str(FOLDER / "node_modules"),
            "OTEL_SERVICE_NAME": name,
            "OTEL_TRACES_EXPORTER": "otlp",
            "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318",
            "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
            "OTEL_METRICS_EXPORTER": "prometheus",
            "OTEL_LOGS_EXPORTER": "none",
            "OTEL_EXPORTER_PROMETHEUS_HOST": "127.0.0.1",
            "OTEL_EXPORTER_PROMETHEUS_PORT": str(metrics),
            "OTEL_NODE_DISABLED_INSTRUMENTATIONS": "fs,dns,net,express,router",
            "OTEL_SEMCONV_STABILITY_OPT_IN": "http",
        },
        folder=FOLDER,
    )


def _publish(client: httpx.Client, number: int, version: str) -> httpx.Response:
    name = f"tool-{number}"
    content = base64.b64encode(random.Random(number).randbytes(20_000)).decode()
    about = {"name": name, "version": version, "dist": {"tarball": f"{PRIVATE}/{name}/-/{name}-{version}.tgz"}}
    body = {
        "_id": name,
        "name": name,
        "dist-tags": {"latest": version},
        "versions": {version: about},
        "_attachments": {f"{name}-{version}.tgz": {"content_type": "application/gzip", "data": content, "length": 20_000}},
    }
    return client.put(f"/{name}", content=json.dumps(body), headers={"content-type": "application/json"})


def _release(client: httpx.Client) -> httpx.Response:
    return _publish(client, random.randrange(1000, 1_000_000), "1.0.0")


def _required(code: str) -> Callable[[tuple[str, ...]], list[str]]:
    """The program with a module loaded first, as a release that came with it."""

    def changed(command: tuple[str, ...]) -> list[str]:
        module = Path(command[command.index("--config") + 1]).with_suffix(".release.js")
        module.write_text(code, encoding="utf-8")
        return [command[0], "--require", str(module), *command[1:]]

    return changed


_HANDLER = """const http = require('http'); const on = http.Server.prototype.on;
http.Server.prototype.on = http.Server.prototype.addListener = function (name, listener) {
 if (name !== 'request') return on.call(this, name, listener);
 return on.call(this, name, function (request, response) { %s listener.call(this, request, response); }); };
const create = http.createServer;
http.createServer = (...rest) => { const listener = rest.pop(); return create(...rest).on('request', listener); };
"""
"""A release that does something else before it handles a request."""


def _busy(path: str) -> Callable[[tuple[str, ...]], list[str]]:
    work = "const until = Date.now() + 400; let x = 0; while (Date.now() < until) x += Math.sqrt(x + 1);"
    return _required(_HANDLER % f"if (request.url.startsWith('{path}')) {{ {work} }}")


def _broken(command: tuple[str, ...]) -> list[str]:
    fail = "response.statusCode = 500; response.end('cannot read manifest'); return;"
    return _required(_HANDLER % f"if (/tgz$/.test(request.url)) {{ {fail} }}")(command)


def _leaking(command: tuple[str, ...]) -> list[str]:
    return _required(
        "const kept = []; const more = () => { if (kept.length < 200) kept.push(Array.from({length: 130000}, Math.random)); };\n"
        "setInterval(more, 500);\n"
    )(command)


def _wrong_uplink(command: tuple[str, ...]) -> list[str]:
    config = Path(command[command.index("--config") + 1])
    other = config.with_name("mirror-new.yaml")
    other.write_text(config.read_text(encoding="utf-8").replace(PRIVATE, "http://127.0.0.1:4880"), encoding="utf-8")
    return [str(other) if word == str(config) else word for word in command]


def _fill(machine: Machine) -> Undo:
    return filled(machine.folder / "packages")


def _is_full(machine: Machine) -> str:
    left = shutil.disk_usage(machine.folder / "packages").free
    return f"{left} bytes are left" if left < 1_000_000 else ""
