"""Several backends of one kind in one system, all real: named, seen by doctor, ranked, asked and linked to their own pages."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote

import httpx
import pytest

from tests.foreign.programs import free_port
from tests.tools.loki.lines import Stream, send
from tests.tools.loki.server import real_loki
from tests.tools.programs import program, running


@contextmanager
def victoriametrics(folder: Path) -> Iterator[str]:
    """Its address; `up` of two services was scraped every 15 s for an hour, and one of them is down for a minute."""
    url = f"http://127.0.0.1:{free_port()}"
    place = [f"-httpListenAddr={url.removeprefix('http://')}", f"-storageDataPath={folder}/data", "-search.latencyOffset=0s"]
    with running([program("victoria-metrics"), *place], folder / "log", f"{url}/health"):
        now = time.time()
        lines = [
            f'up{{namespace="shop",job="{job}",instance="{job}:80"}} {int(job != "orders" or ago > 60)} {int((now - ago) * 1e3)}'
            for job in ("orders", "cart")
            for ago in range(3600, 0, -15)
        ]
        httpx.post(f"{url}/api/v1/import/prometheus", content="\n".join(lines), timeout=20.0).raise_for_status()
        httpx.get(f"{url}/internal/force_flush", timeout=20.0)
        yield url


@pytest.fixture
def sources(tmp_path: Path) -> Iterator[dict[str, str]]:
    """A VictoriaMetrics and two Lokis; only the second has lines of ``billing``, which fails."""
    for needed in ("loki", "victoria-metrics"):
        program(needed)
    for name in ("first", "second", "metrics"):
        (tmp_path / name).mkdir()
    with (
        real_loki(tmp_path / "first") as (first, scope),
        real_loki(tmp_path / "second") as (second, _),
        victoriametrics(tmp_path / "metrics") as metrics,
    ):
        at = scope.window.start
        lines: list[tuple[float, str, dict[str, str]]] = [
            (at + n, f'level=error msg="charge {n} failed: timeout"', {}) for n in range(55)
        ]
        send(second, iter([Stream({"namespace": "shop", "app": "billing"}, lines)]))
        yield {"loki": first, "loki-payments": second, "victoriametrics": metrics}


def revelio(folder: Path, *words: str) -> str:
    """What the command line says in a folder, without any settings from outside."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("REVELIO_")}
    command = [sys.executable, "-c", "from revelio.cli import main; main()", *words]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_several_sources_are_asked_as_one_system(sources: dict[str, str], tmp_path: Path) -> None:
    """One test, so that the servers start once."""
    named = [word for name, url in sources.items() for word in ("--source", f"{name}={url}")]
    revelio(tmp_path, "init", "--system", "shop", "--project", "shop", "--only", *named)
    settings = tmp_path / "revelio.toml"
    text = settings.read_text(encoding="utf-8")
    for name in ("loki", "loki-payments"):
        head = f'[systems."shop".backends.{name}]\n'
        text = text.replace(head, f'{head}grafana = "https://grafana.example.com"\ndatasource = "uid-of-{name}"\n')
    settings.write_text(text, encoding="utf-8")
    assert set(tomllib.loads(text)["systems"]["shop"]["backends"]) == set(sources)

    looked = json.loads(revelio(tmp_path, "doctor", "--json"))
    states = {f["what"]: f["state"] for f in looked["findings"]}
    assert {states[f"shop: {name}"] for name in sources} == {"good"}
    assert any("Jaeger or Tempo" in sentence for sentence in looked["systems"]["shop"]["to_connect"])
    assert not any("Loki" in sentence for sentence in looked["systems"]["shop"]["to_connect"])

    report = "billing cannot charge cards, orders is down"
    answer = json.loads(revelio(tmp_path, "recommend", report, "-k", "50", "--json"))
    assert answer["degraded"] == []
    by_id = {query["id"].rpartition("-")[0]: query for query in answer["queries"] if "billing" in str(query["bindings"])}
    errors = by_id["elasticsearch.errors"]
    assert errors["source"] == "Loki (loki-payments)"
    assert json.dumps("uid-of-loki-payments") in unquote(errors["link"])
    both = next(q for q in answer["queries"] if q["id"].startswith("elasticsearch.errors") and "orders" in str(q["bindings"]))
    assert both["source"] == "Loki, Loki (loki-payments)"
    up = next(q for q in answer["queries"] if q["id"].startswith("prometheus."))
    assert up["source"] == "VictoriaMetrics" and up["link"].startswith(f"{sources['victoriametrics']}/vmui/#/?g0.expr=")

    ran = json.loads(revelio(tmp_path, "run", errors["id"], "--json"))
    assert ran["signal"] == 1.0 and "charge" in str(ran["rows"])
