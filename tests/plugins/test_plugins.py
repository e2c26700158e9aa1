"""A small distribution with a tool, installed into a folder: its tool is like a bundled one, and a broken one harms nothing."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer

from revelio.catalog import bundled_catalog
from revelio.catalog.plugins import announced, own_catalog, with_plugins
from revelio.cli.discovery import BackendFinder
from revelio.errors import SourceError
from revelio.settings import Backend, Settings, SystemSettings
from revelio.systems.system import System, open_system
from revelio.types import Query
from tests.cli.made import CommandLine

HERE = Path(__file__).parent
NOW = 1_700_000_000.0

Broken = Callable[[str], None]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the distribution is installed, by pip, from its own sources."""
    into = tmp_path_factory.mktemp("site")
    options = ["--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check", "--target", str(into)]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, str(HERE / "queues")], check=True, timeout=120)
    return into


@pytest.fixture
def installed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder is one of those that Python looks into."""
    monkeypatch.syspath_prepend(folder)
    announced.cache_clear()
    yield folder
    announced.cache_clear()
    for module in [m for m in sys.modules if m.startswith("revelio_")]:
        del sys.modules[module]


@pytest.fixture
def broken(installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Broken:
    """Installs a second plug-in, ``bad``, whose module is this text."""

    def install(code: str) -> None:
        there = tmp_path / "bad"
        (there / "revelio_bad-0.1.dist-info").mkdir(parents=True)
        (there / "revelio_bad-0.1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: revelio-bad\nVersion: 0.1\n")
        (there / "revelio_bad-0.1.dist-info" / "entry_points.txt").write_text("[revelio.tools]\nbad = revelio_bad:PLUGIN\n")
        (there / "revelio_bad.py").write_text(code)
        monkeypatch.syspath_prepend(there)
        announced.cache_clear()

    return install


@pytest.fixture
def server(httpserver: HTTPServer) -> str:
    """A server of queues."""
    httpserver.expect_request("/depths").respond_with_json({"orders": [2, 40], "mails": [1, 1]})
    return httpserver.url_for("").rstrip("/")


def opened(url: str, name: str = "queues") -> System:
    backends = {name: Backend(url=url, link="https://queues.example.com/")}
    return open_system("shop", SystemSettings(backends=backends), with_plugins(bundled_catalog()), 2.0)


def test_its_tool_answers_like_a_bundled_one(installed: Path, server: str) -> None:
    with closing(opened(server)) as system:
        [state] = system.ping()
        evidence = system.snapshot(NOW, 60.0, 120.0)
        query = Query(system.catalog.template("queues.depth"), (("queue", "orders"),))
        result = system.run(query, evidence)
        assert (state.up, state.detail) == (True, "Queues, 2 of them")
        assert {e.name for e in evidence.entities} == {"orders", "mails"}
        assert (result.signal, result.rows) == (1.0, (("orders", 40.0),))
        assert system.render(query, evidence) == "depth orders"
        assert system.link(query, evidence) == "https://queues.example.com/"


def test_several_of_its_servers_are_sources_of_one_system(installed: Path, server: str) -> None:
    with closing(opened(server, "queues-eu")) as system:
        assert [state.tool for state in system.ping() if state.up] == ["queues-eu"]


def test_init_connects_it_and_its_questions_are_ranked(
    installed: Path, server: str, revelio: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("REVELIO_SYSTEMS", "REVELIO_INCIDENTS"):
        monkeypatch.delenv(variable)
    address = server.removeprefix("http://")
    monkeypatch.setenv("KUBECONFIG", "/nowhere")
    monkeypatch.setattr("revelio.tools.discovery.machine.engine", lambda path="": None)
    monkeypatch.setattr("revelio.tools.discovery.machine.addresses", lambda ports, there: (address,) if 15999 in ports else ())
    made = revelio("init", "--system", "shop")
    assert made.code == 0 and "Queues, 2 of them" in made.out
    written = tomllib.loads(Path("revelio.toml").read_text(encoding="utf-8"))
    assert written["systems"]["shop"]["backends"]["queues"] == {"url": server, "link": server}
    answer = revelio("recommend", "orders are not processed", "--json").json
    assert answer["queries"][0]["id"].startswith("queues.depth")
    looked = revelio("doctor", "--json").json
    told = {f["what"]: f for f in looked["findings"]}
    assert (told["plug-in queues"]["state"], told["plug-in queues"]["detail"]) == ("good", "revelio-queues 1.2, 1 templates")
    assert told["shop: queues"]["state"] == "good"
    assert "queues.depth" in revelio("catalog", "list").out


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("import revelio_is_not_here", "cannot be loaded: ModuleNotFoundError"),
        ("raise SystemError('no')", "cannot be loaded: SystemError: no"),
        ("PLUGIN = 3", "is no revelio.catalog.plugins.Plugin"),
        (
            "from revelio.catalog.plugins import Plugin\nPLUGIN = Plugin('/nowhere.yaml', print)",
            "/nowhere.yaml:1: cannot be read",
        ),
        ("from revelio_queues import PLUGIN", "is announced as 'bad', so its catalog has to declare that tool alone, not queues"),
    ],
)
def test_a_broken_one_is_a_sentence_in_doctor_and_the_rest_goes_on(
    broken: Broken, revelio: CommandLine, code: str, why: str
) -> None:
    broken(code)
    told = {f["what"]: f for f in revelio("doctor", "--json").json["findings"]}
    assert told["plug-in bad"]["state"] == "absent" and why in told["plug-in bad"]["detail"]
    assert told["plug-in bad"]["remedy"].startswith("correct or uninstall revelio-bad 0.1")
    assert told["plug-in queues"]["state"] == told["catalog"]["state"] == "good"
    assert [t.name for t in own_catalog(Settings()).tools] == [*(t.name for t in bundled_catalog().tools), "queues"]


BAD = """
from pathlib import Path
from revelio.catalog.plugins import Plugin
from revelio.tools.probe import Probe
path = Path(__file__).with_name("bad.yaml")
path.write_text("tool: bad\\ntitle: Bad\\nabout: Bad.\\ntemplates: [{id: bad.one, title: One, body: 'one'}]")
def fails(*given): raise KeyError("orders")
class Bad:
    retrospective = True
    def __init__(self, spec, backend, limits): self.name = spec.name
    def ping(self): return 3
    snapshot = run = render = link = close = fails
PLUGIN = Plugin(path, MAKE, Probe(places=fails, look=fails))
"""


@pytest.mark.parametrize(("make", "why"), [("Bad", "KeyError: 'orders'"), ("fails", "KeyError: 'orders'")])
def test_whatever_its_code_does_is_an_error_of_its_source(broken: Broken, server: str, make: str, why: str) -> None:
    broken(BAD.replace("MAKE", make))
    backends = {"bad": Backend(url="http://127.0.0.1:9"), "queues": Backend(url=server)}
    catalog = with_plugins(bundled_catalog())
    system = open_system("shop", SystemSettings(backends=backends), catalog, 2.0)
    with closing(system):
        states = {state.tool: state for state in system.ping()}
        assert states["queues"].up and not states["bad"].up
        assert "its plug-in revelio-bad 0.1" in states["bad"].detail
        evidence = system.snapshot(NOW, 60.0, 120.0)
        assert evidence.missing == ("bad",) and evidence.entities
        query = Query(catalog.template("bad.one"), ())
        assert (system.render(query, evidence), system.link(query, evidence)) == ("one", None)
        with pytest.raises(SourceError, match=why):
            system.run(query, evidence)
    assert not BackendFinder(catalog).at("bad", "http://127.0.0.1:9").up


def test_without_one_there_is_nothing_to_say(revelio: CommandLine) -> None:
    announced.cache_clear()
    assert announced() == ()
    assert not any(f["what"].startswith("plug-in") for f in revelio("doctor", "--json").json["findings"])
