"""A real OpenSearch and Elasticsearch; ``python -m tests.tools.elasticsearch.servers`` records what they reply."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from revelio.settings import Backend
from revelio.tools.base import Limits, Scope
from revelio.tools.elasticsearch.opensearch import OpenSearch
from revelio.tools.elasticsearch.tool import ElasticsearchLogs
from revelio.tools.registry import probes
from revelio.types import Query, QueryTemplate, Window
from testbed.images.artifacts import ELASTICSEARCH
from tests.foreign.programs import free_port
from tests.tools.conftest import bound, spec
from tests.tools.programs import CACHE
from tests.tools.recorded import recorded

MAVEN = "org.elasticsearch.distribution.integ-test-zip:elasticsearch"
PLUGINS = ELASTICSEARCH.path().parent / "plugins"
"""Where ES|QL is unpacked (Maven: org.elasticsearch.plugin:x-pack-esql and x-pack-esql-core), which that build lacks."""
TOOLS = {"opensearch": OpenSearch, "elasticsearch": ElasticsearchLogs}
SCHEMAS = ("ecs", "otel", "kubernetes", "plain", "filebeat")
QUESTIONS = [
    ("elasticsearch.errors", {"service": "orders"}),
    ("elasticsearch.exceptions", {"service": "orders"}),
    ("elasticsearch.new_patterns", {}),
    ("elasticsearch.log_rate", {"service": "orders"}),
    ("elasticsearch.failing_trace", {"service": "orders"}),
    ("elasticsearch.timeouts", {"service": "orders"}),
]


BY_SERVICE = Query(
    QueryTemplate(
        "own-text",
        "elasticsearch",
        "",
        "",
        'FROM logs-ecs | WHERE log.level == "error" AND MATCH(message, "refused") | STATS n = COUNT(*) BY service.name',
    )
)
LATEST = Query(
    QueryTemplate(
        "own-text", "elasticsearch", "", "", "FROM logs-ecs | KEEP @timestamp, service.name, message | SORT @timestamp DESC"
    )
)


def document(schema: str, at: float, service: str, level: str, message: str, trace: str, error: str) -> dict[str, Any]:
    """One line as an agent with that schema ships it."""
    when = datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
    if schema == "ecs":
        told = {"@timestamp": when, "log.level": level, "message": message, "service.name": service, "trace.id": trace}
        return told | ({"error.type": error} if error else {})
    if schema == "otel":
        attributes = {"exception": {"type": error}} if error else {}
        resource = {"attributes": {"service": {"name": service}}}
        body = {"text": message}
        return {
            "@timestamp": when,
            "severity_text": level.upper(),
            "body": body,
            "trace_id": trace,
            "resource": resource,
            "attributes": attributes,
        }
    if schema == "kubernetes":
        text = json.dumps({"level": level, "msg": message, "trace_id": trace, **({"exception_type": error} if error else {})})
        return {"@timestamp": when, "log": text, "stream": "stdout", "kubernetes": {"container_name": service}}
    if schema == "filebeat":
        text = json.dumps(
            {"severity": level, "time": when, "message": message + (f" ({error})" if error else ""), "trace_id": trace}
        )
        labels = {"com_docker_compose_project": "shop", "com_docker_compose_service": service}
        return {
            "@timestamp": when,
            "message": text,
            "container": {"name": f"shop-{service}-1", "labels": labels},
            "stream": "stdout",
        }
    said = f"{level.upper()} {message}" + (f" ({error})" if error else "")
    return {"timestamp": when, "level": level, "service": service, "msg": said}


@contextmanager
def real_opensearch() -> Iterator[tuple[str, Scope]]:
    """Its address, and the scope of the lines that it holds in five indices, one a schema."""
    homes = sorted(CACHE.glob("opensearch/*/opensearch-*"))
    if not homes:
        pytest.skip(
            "OpenSearch is not here: unpack its distribution (Maven: org.opensearch.distribution.integ-test-zip:opensearch) "
            "below ~/.cache/revelio/opensearch/VERSION"
        )
    with node("opensearch", lambda folder: shutil.copytree(homes[-1], folder / "opensearch", symlinks=True)) as url:
        yield url, _filled(url)


@contextmanager
def real_elasticsearch() -> Iterator[tuple[str, Scope]]:
    """The same of an Elasticsearch."""
    with elasticsearch_node({"xpack.security.enabled": False}) as url:
        yield url, _filled(url)


@contextmanager
def elasticsearch_node(
    settings: Mapping[str, object], prepare: Callable[[Path], None] = lambda home: None, scheme: str = "http"
) -> Iterator[str]:
    """The address of an empty Elasticsearch with these settings, once its folder is prepared."""
    packed = ELASTICSEARCH.path()
    if not packed.exists():
        pytest.skip(f"Elasticsearch is not here: download {packed.name} (Maven: {MAVEN}) to {packed.parent}")

    def unpack(folder: Path) -> None:
        shutil.unpack_archive(packed, folder)
        home = next(folder.glob("elasticsearch-*"))
        if PLUGINS.exists():
            shutil.copytree(PLUGINS, home / "plugins", dirs_exist_ok=True)
        prepare(home)

    with node("elasticsearch", unpack, settings, scheme) as url:
        yield url


@contextmanager
def node(
    name: str, unpack: Callable[[Path], object], settings: Mapping[str, object] | None = None, scheme: str = "http"
) -> Iterator[str]:
    """The address of one node of that program, unpacked into a folder that is removed."""
    if shutil.which("java") is None:
        pytest.skip(f"{name} needs a Java 17")
    with tempfile.TemporaryDirectory() as made:  # its user may not look into pytest's
        folder, port = Path(made), free_port()
        unpack(folder)
        [home] = folder.glob(f"{name}*")
        own = {
            "discovery.type": "single-node",
            "network.host": "127.0.0.1",
            "http.port": port,
            "transport.port": free_port(),
            "path.data": str(home / "data"),
            "path.logs": str(home / "logs"),
        }
        config = (home / "config" / f"{name}.yml").open("w")
        with config:
            config.writelines(f"{key}: {json.dumps(value)}\n" for key, value in {**own, **(settings or {})}.items())
        with _started(name, home, folder) as alive:
            url = f"{scheme}://127.0.0.1:{port}"
            _wait(url, alive)
            yield url


@contextmanager
def _started(name: str, home: Path, folder: Path) -> Iterator[Callable[[], bool]]:
    """Whether it still runs, in a call."""
    user = "nobody" if os.geteuid() == 0 else None
    if user:
        folder.chmod(0o755)
        for path in (home, *home.rglob("*")):
            shutil.chown(path, user)
    short = {"opensearch": "OPENSEARCH", "elasticsearch": "ES"}[name]
    java = {f"{short}_JAVA_OPTS": "-Xms400m -Xmx400m", f"{short}_JAVA_HOME": java_home(), "HOME": str(home)}
    with (folder / "node.log").open("wb") as log:
        started = subprocess.Popen(
            ["nice", "bash", str(home / "bin" / name)],
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, **java},
            start_new_session=True,
            user=user,
            group=pwd.getpwnam(user).pw_gid if user else None,
            extra_groups=[] if user else None,
            cwd=home,
        )
    try:
        yield lambda: started.poll() is None
    finally:
        if started.poll() is None:
            os.killpg(started.pid, signal.SIGKILL)
            started.wait(timeout=20.0)


SERVERS: dict[str, Callable[[], AbstractContextManager[tuple[str, Scope]]]] = {
    "opensearch": real_opensearch,
    "elasticsearch": real_elasticsearch,
}


def java_home() -> str:
    """The folder of the Java that is here."""
    java = Path(shutil.which("java") or "").resolve()
    return str(java.parent.parent)


def _wait(url: str, alive: Callable[[], bool], seconds: float = 240.0) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and alive():
        try:
            if httpx.get(f"{url}/_cluster/health", timeout=5.0, verify=False).status_code in (200, 401):
                return
        except httpx.HTTPError:
            time.sleep(1.0)
    raise TimeoutError(f"nothing answers at {url}")


def _filled(url: str) -> Scope:
    """The scope of the lines that it holds from now on."""
    now = float(round(time.time()))
    keyword = {"type": "keyword"}
    names = ("service.name", "log.level", "trace.id", "error.type")
    httpx.put(
        f"{url}/logs-ecs", json={"mappings": {"properties": dict.fromkeys(names, keyword)}}, timeout=30.0
    ).raise_for_status()
    labels = dict.fromkeys(("com_docker_compose_project", "com_docker_compose_service"), keyword)
    shipped = {
        **dict.fromkeys((*names, "service.type", "kubernetes.container.name", "kubernetes.namespace", "process.name"), keyword),
        "container": {"properties": {"name": keyword, "labels": {"properties": labels}}},
        "message": {"type": "text"},
    }  # as Filebeat does, all of ECS is mapped
    httpx.put(f"{url}/logs-filebeat", json={"mappings": {"properties": shipped}}, timeout=30.0).raise_for_status()
    lines = []
    for n in range(60):  # another application on the same store
        told = document("filebeat", now - 59.0 + n, "driver", "error", f"no such ride {n}", "", "RideError")
        told["container"]["labels"]["com_docker_compose_project"] = "rides"
        lines += [json.dumps({"index": {"_index": "logs-filebeat"}}), json.dumps(told)]
    for schema in SCHEMAS:
        for n in range(80):
            at = now - 239.0 + 3.0 * n
            failing = at > now - 60.0
            message = f"no answer from 10.0.0.{n} in time: connection refused" if failing else f"order {n} stored"
            error = "TimeoutError" if failing else ""
            told = document(schema, at, "orders", "error" if failing else "info", message, f"{n:032x}", error)
            lines += [json.dumps({"index": {"_index": f"logs-{schema}"}}), json.dumps(told)]
    head = {"Content-Type": "application/x-ndjson"}
    sent = httpx.post(f"{url}/_bulk?refresh=true", content="\n".join(lines) + "\n", headers=head, timeout=60.0)
    assert not sent.raise_for_status().json()["errors"], sent.text[:500]
    return Scope("shop", Window(now - 60.0, now), Window(now - 240.0, now - 60.0))


@contextmanager
def log_store(name: str, url: str, schema: str) -> Iterator[ElasticsearchLogs]:
    """The product's tool, that asks it for the lines of one schema."""
    with closing(TOOLS[name](spec("elasticsearch"), Backend(url=url, index=f"logs-{schema}"), Limits(seconds=20.0))) as tool:
        yield tool


def _record(name: str) -> None:
    with ExitStack() as stack:
        real, scope = stack.enter_context(SERVERS[name]())
        between = stack.enter_context(recorded(name, scope, real))
        probes()[name].look(between)  # type: ignore[misc]
        for schema in SCHEMAS:
            asking = stack.enter_context(log_store(name, between, schema))
            asking.ping()
            asking.snapshot(scope)
            for template, bindings in QUESTIONS:
                asking.run(bound(template, **bindings), scope)
            if (name, schema) == ("elasticsearch", "ecs"):
                for query in (BY_SERVICE, LATEST):
                    asking.run(query, scope)


if __name__ == "__main__":
    for server in sys.argv[1:] or SERVERS:
        _record(server)
