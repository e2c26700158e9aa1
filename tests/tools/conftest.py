"""What the tests of tools share: a scope, the bundled catalog's tools, and names that try to break out of a query."""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from pkgutil import resolve_name

import pytest
from hypothesis import strategies as st

from revelio.catalog import ToolSpec, bundled_catalog
from revelio.presentation import evidence_panels
from revelio.presentation.panels import Groups, Table, Timeline, Tree
from revelio.tools.base import Limits, Scope, Tool
from revelio.tools.registry import PRODUCTS, TOOLS
from revelio.types import Evidence, Query, Result, Window

NOW = 1_700_000_000.0
SCOPE = Scope("shop", Window(NOW - 30.0, NOW), Window(NOW - 90.0, NOW - 30.0))
QUICK = Limits(seconds=0.5, rows=50, bytes=200_000)
PATIENT = Limits(seconds=10.0, rows=50)
"""For what loads a client first."""

HOSTILE_NAMES = (
    '"}) or vector(1) #',
    'cart"',
    "cart\\",
    'cart\\"} or up{a="',
    "two\nlines",
    "${service}",
    "${project}",
    "'; rm -rf / #",
    "$(reboot)",
    "`reboot`",
    'x"}},"size":0,"script":{"a":"b',
    "a&service=other&limit=1",
    "заказ 注文 🛒",
    "\u202e\u0000\x7f",
    "\ud800",
    "x" * 4096,
)


@pytest.fixture(autouse=True)
def typed_results(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every result that any tool returns in these tests is typed, and no panel depends on the titles of its columns."""
    for place in {*TOOLS.values(), *PRODUCTS.values()}:
        tool = resolve_name(place)

        def run(self: Tool, query: Query, scope: Scope, real: Callable[..., Result] = tool.run) -> Result:
            result = real(self, query, scope)
            check_typed(result, scope)
            return result

        monkeypatch.setattr(tool, "run", run)


def check_typed(result: Result, scope: Scope) -> None:
    """What every tool promises of its results."""
    assert result.kind != "unspecified", result
    assert len(result.roles) == len(result.columns), result
    renamed = replace(result, columns=tuple(f"renamed {i}" for i, _ in enumerate(result.columns)))
    evidence = Evidence(scope.window, scope.baseline)
    before, after = (evidence_panels(r, evidence).panels for r in (result, renamed))
    assert [p for p in before if not isinstance(p, Table)] == [p for p in after if not isinstance(p, Table)]
    grouped = result.kind not in ("table", "series", "spans", "containers", "log_lines")
    assert not (grouped and result.rows) or any(isinstance(p, Groups | Timeline | Tree) for p in before), result


def hostile() -> st.SearchStrategy[str]:
    """Names from telemetry at their worst."""
    return st.sampled_from(HOSTILE_NAMES) | st.text(st.characters(exclude_categories=()), min_size=1, max_size=60)


def spec(tool: str) -> ToolSpec:
    """One tool of the bundled catalog."""
    return next(t for t in bundled_catalog().tools if t.name == tool)


def bound(template_id: str, **bindings: str) -> Query:
    """A bundled template with its blanks filled."""
    return Query(bundled_catalog().template(template_id), tuple(sorted(bindings.items())))


def filled(tool: str, value: str) -> list[Query]:
    """Every bundled template of a tool with all its blanks filled with one value."""
    return [Query(t, tuple(sorted((b.name, value) for b in t.blanks))) for t in spec(tool).templates]


def grid(before: Callable[[float], float], now: Callable[[float], float], step: float = 2.0) -> list[tuple[float, float]]:
    """Points every two seconds over baseline and window."""
    points = []
    moment = SCOPE.baseline.start
    while moment <= SCOPE.window.end:
        points.append((moment, now(moment) if moment >= SCOPE.window.start else before(moment)))
        moment += step
    return points


@pytest.fixture(autouse=True)
def no_watch_outlives_its_test() -> Iterator[None]:
    """A watch that goes on asks the next test's server, which counts its questions."""
    yield
    assert not [t.name for t in threading.enumerate() if t.name.startswith("watch-")]


@pytest.fixture
def scope() -> Scope:
    """90 s, of which the last 30 are the window."""
    return SCOPE


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An authority, and certificates by it for a server at 127.0.0.1 and for a client."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not here to make certificates with")
    folder = tmp_path_factory.mktemp("certificates")

    def openssl(*words: str) -> None:
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)

    new = ("req", "-newkey", "rsa:2048", "-nodes", "-days", "2")
    openssl(*new, "-x509", "-subj", "/CN=authority", "-keyout", "ca.key", "-out", "ca.pem")
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    for name in ("server", "client"):
        openssl(*new[:4], "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
        signing = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "names", "-days", "2")
        openssl("x509", "-req", "-in", f"{name}.csr", *signing, "-out", f"{name}.pem")
    return folder
