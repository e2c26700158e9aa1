"""Settings come from arguments, environment and file, in that order, and a wrong one is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from fault_injection.testbed_system import system_of
from revelio.errors import InvalidInputError
from revelio.registered_systems import register, unregister
from revelio.settings import BUNDLED, load_settings


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("REVELIO_CONFIG", raising=False)
    return tmp_path


def test_a_fresh_install_listens_on_loopback_and_has_no_live_system() -> None:
    settings = load_settings()
    assert settings.host == "127.0.0.1"
    assert settings.systems == {}


def test_a_registered_system_is_there_until_it_is_unregistered_and_the_file_wins_over_it(elsewhere: Path) -> None:
    shop = system_of("shop")
    register("shop", shop.model_dump(exclude_defaults=True))
    assert load_settings().systems == {"shop": shop}
    (elsewhere / "revelio.toml").write_text('[systems.shop]\nproject = "mine"\n[systems.ours]\nproject = "ours"\n')
    assert [(name, system.project) for name, system in sorted(load_settings().systems.items())] == [
        ("ours", "ours"),
        ("shop", "mine"),
    ]
    unregister("shop")
    assert set(load_settings().systems) == {"ours", "shop"}
    (elsewhere / "revelio.toml").unlink()
    assert load_settings().systems == {}


def test_a_registered_system_that_is_no_toml_is_named(elsewhere: Path) -> None:
    register("shop", {"project": "x"}).write_text("project = ")
    with pytest.raises(InvalidInputError, match=r"systems\.d/shop\.toml cannot be read"):
        load_settings()


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
