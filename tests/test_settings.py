"""Settings come from arguments, environment and file, in that order, and a wrong one is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from revelio.errors import InvalidInputError
from revelio.settings import BUNDLED, load_settings


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("REVELIO_CONFIG", raising=False)
    return tmp_path


def test_a_fresh_install_listens_on_loopback_and_knows_the_testbeds_shop() -> None:
    settings = load_settings()
    assert settings.host == "127.0.0.1"
    assert "prometheus" in settings.systems["shop"].backends


def test_the_environment_wins_over_the_file(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (elsewhere / "revelio.toml").write_text(
        'port = 9001\nhost = "127.0.0.2"\n[systems.mine.backends.prometheus]\nurl = "http://p:9090"\n'
    )
    monkeypatch.setenv("REVELIO_PORT", "9002")
    settings = load_settings()
    assert (settings.port, settings.host) == (9002, "127.0.0.2")
    assert settings.systems["mine"].backends["prometheus"].url == "http://p:9090"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("port = 99999", "port"),
        ("prot = 1", "prot"),
        ("port = ", "revelio.toml"),
        ("[systems.x]\nwindow_s = 0", "systems.x.window_s"),
    ],
)
def test_a_wrong_setting_is_named(elsewhere: Path, text: str, names: str) -> None:
    (elsewhere / "revelio.toml").write_text(text)
    with pytest.raises(InvalidInputError, match=names):
        load_settings()


def test_a_config_file_that_is_not_there_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REVELIO_CONFIG", "/nowhere/revelio.toml")
    with pytest.raises(InvalidInputError, match="/nowhere"):
        load_settings()


def test_the_bundled_replay_set_is_found_under_its_former_name_and_other_folders_stay_as_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("REVELIO_LEARNING__DATASET", str(BUNDLED / "rehearsal"))
    assert load_settings().learning.dataset == BUNDLED / "replay_set"
    monkeypatch.setenv("REVELIO_LEARNING__DATASET", "var/rehearsal")
    assert load_settings().learning.dataset == Path("var/rehearsal")
