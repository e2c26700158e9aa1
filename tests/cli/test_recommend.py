"""``revelio recommend`` and ``revelio run`` on a recorded incident."""

from __future__ import annotations

import io
import shlex
from pathlib import Path

import pytest

from tests.cli.made import CommandLine
from tests.webui import made


@pytest.fixture
def desk(revelio: CommandLine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> CommandLine:
    """The command line with two recorded incidents and a stand-in for the model."""
    settings = made.settings(tmp_path, made.record(), made.record("shop-0002", "all fine", ("elasticsearch",)))
    monkeypatch.setenv("REVELIO_CATALOG", f'["{settings.catalog[0]}"]')
    monkeypatch.setattr("revelio.service.active_model.load_recommender", lambda folder, catalog: made.StandIn(catalog))
    return revelio


def test_json_is_the_object_of_the_api(desk: CommandLine) -> None:
    ran = desk("recommend", "the basket hangs", "--incident", "shop-0001", "-k", "2", "--json")
    assert ran.code == 0, ran.err
    found = ran.json
    assert (found["incident"], found["report"], found["model"]) == ("shop-0001", "the basket hangs", "stand-in-1")
    assert [q["rank"] for q in found["queries"]] == [1, 2]
    assert found["queries"][0]["result"] is None
    assert 'container="cart"' in found["queries"][0]["text"]


def test_text_shows_rank_probability_reason_and_native_query(desk: CommandLine) -> None:
    out = desk("recommend", "the basket hangs", "--incident", "shop-0001").out
    first = next(line for line in out.splitlines() if line.startswith(" 1. "))
    assert "62%" in first
    assert "CPU throttling of cart" in first
    assert "[prometheus]" in first
    assert 'container_cpu_cfs_throttled_seconds_total{container="cart"}' in out
    assert "the report speaks of cart" in out
    assert "\x1b[" not in out


def test_the_command_below_a_query_runs_it(desk: CommandLine) -> None:
    out = desk("recommend", "the basket hangs", "--incident", "shop-0001").out
    command = next(line for line in out.splitlines() if line.startswith("    revelio run "))
    ran = desk(*shlex.split(command)[1:])
    assert ran.code == 0, ran.err
    assert "CPU throttling of cart" in ran.out


def test_factors_are_shown_where_all_is_asked_for(desk: CommandLine) -> None:
    brief = desk("recommend", "the basket hangs", "--incident", "shop-0001").out
    whole = desk("recommend", "the basket hangs", "--incident", "shop-0001", "--verbose").out
    assert "tool " in whole and "tool " not in brief


def test_texts_of_many_lines_are_shown_where_all_is_asked_for(revelio: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REVELIO_INCIDENTS")
    words = ("recommend", "I get an error", "--incident", "shop-1c17e4b235", "-k", "50")
    texts = [q["text"].splitlines() for q in revelio(*words, "--json").json["queries"]]
    brief, whole = revelio(*words).out.splitlines(), revelio(*words, "--verbose").out.splitlines()
    long = [f"    {line}" for text in texts if len(text) > 1 for line in text]
    assert long
    assert set(long) <= set(whole)
    assert not set(long) & set(brief)


def test_queries_have_no_probability_where_nothing_is_wrong(desk: CommandLine) -> None:
    out = desk("recommend", "all fine", "--incident", "shop-0002").out
    queries = [line for line in out.splitlines() if line.startswith((" 1. ", " 2. "))]
    assert queries
    assert not any("%" in line or "█" in line for line in queries)


def test_run_adds_the_evidence(desk: CommandLine) -> None:
    out = desk("recommend", "the basket hangs", "--incident", "shop-0001", "--run").out
    assert "Anomalous (anomaly score 1.00): cart was throttled" in out
    assert "│" in out
    assert "gateway GET /api/cart/{id}" in out
    found = desk("recommend", "x", "--incident", "shop-0001", "--run", "--json").json
    assert found["queries"][0]["result"]["signal"] == 1.0


def test_the_incident_brings_its_own_report(desk: CommandLine) -> None:
    assert desk("recommend", "--incident", "shop-0001", "--json").json["report"] == made.REPORT


def test_a_report_may_come_on_standard_input(desk: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("piped in\n"))
    assert desk("recommend", "-", "--incident", "shop-0001", "--json").json["report"] == "piped in"


def test_an_empty_report_on_standard_input_is_not_replaced(desk: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("\n"))
    ran = desk("recommend", "-", "--incident", "shop-0001")
    assert (ran.code, ran.out) == (1, "")
    assert "report is empty" in ran.err


def test_silent_sources_and_abstention_are_said(desk: CommandLine) -> None:
    out = desk("recommend", "all fine", "--incident", "shop-0002").out
    assert "93%" in out
    assert "elasticsearch did not answer" in out


def test_the_only_live_system_is_taken_when_none_is_named_and_a_dead_backend_is_no_error(desk: CommandLine) -> None:
    ran = desk("recommend", "slow", "--json")
    assert ran.code == 0, ran.err
    assert (ran.json["system"], ran.json["incident"]) == ("shop", None)
    assert "inventory is empty" in desk("recommend", "slow").out


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("recommend", "x", "--incident", "gone"), 1, "no recorded incident 'gone'"),
        (("recommend", "x", "--system", "gone"), 1, "no system 'gone'"),
        (("recommend", "", "--system", "shop"), 1, "report is empty"),
        (("recommend", "", "--incident", "shop-0001"), 1, "report is empty"),
        (("recommend", "x" * 30_000, "--incident", "shop-0001"), 1, "shorten it"),
        (("recommend", "x", "--incident", "shop-0001", "--system", "shop"), 2, "not both"),
        (("run", "loki.errors", "--incident", "shop-0001"), 1, "--bind service=cart"),
        (("run", "loki.errors", "--bind", "cart", "--incident", "shop-0001"), 2, "BLANK=VALUE"),
        (("run", "loki.errors", "--bind", "servce=cart", "--incident", "shop-0001"), 1, "did you mean service?"),
        (("run", "loki.errors", "--bind", "service=crt", "--incident", "shop-0001"), 1, "did you mean cart?"),
        (("run", "nonsense", "--incident", "shop-0001"), 1, "no query 'nonsense'"),
        (("run", "up", "--tool", "nonsense", "--incident", "shop-0001"), 1, "no tool 'nonsense'"),
        (("run", "loki.errors", "--bind", "service=orders", "--incident", "shop-0001"), 1, "was not run"),
    ],
)
def test_mistakes_are_answered_in_words(desk: CommandLine, words: tuple[str, ...], code: int, said: str) -> None:
    ran = desk(*words)
    assert (ran.code, ran.out) == (code, "")
    assert said in " ".join(ran.err.split())


def test_a_missing_model_is_said_with_what_to_do(revelio: CommandLine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    settings = made.settings(tmp_path, made.record())
    monkeypatch.setenv("REVELIO_CATALOG", f'["{settings.catalog[0]}"]')
    ran = revelio("recommend", "x", "--incident", "shop-0001", "--model", tmp_path / "none")
    assert ran.code == 1
    assert "revelio train" in ran.err


def test_run_takes_a_query_id_or_a_template_with_its_place(desk: CommandLine) -> None:
    by_template = desk("run", "prometheus.throttling", "--bind", "container=cart", "--incident", "shop-0001", "--json").json
    identity = desk("recommend", "x", "--incident", "shop-0001", "--json").json["queries"][0]["id"]
    assert desk("run", identity, "--incident", "shop-0001", "--json").json == by_template
    assert by_template["series"][0]["entity"] == "cart"
    out = desk("run", "loki.errors", "--bind", "service=cart", "--incident", "shop-0001").out
    assert "Error lines of cart" in out
    assert "<script>alert(1)</script>" in out
