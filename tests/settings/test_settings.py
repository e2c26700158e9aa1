"""Settings come from arguments, environment and file, in that order, and a wrong one is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from fault_injection.testbed_system import system_of
from revelio.errors import InvalidInputError
from revelio.settings import BUNDLED, load_settings
from revelio.settings.registered_systems import register, unregister


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
        ("[systems.x]\nwindow_s = 0", "systems.x.window_s is 0; it has to be more than 0"),
        ("prot = 1", "setting prot is unknown; did you mean port"),
        ("[systems.x.backends.loki]\nulr = 'http://l'", "backends.loki.ulr is unknown; did you mean url"),
        ("[oidc]\nissuer = 'http://l'\nclient_idd = 'x'", "oidc.client_idd is unknown; did you mean client_id"),
        ("[systems.x.backends]\nloki = 'http://l'", "backends.loki has to be a table"),
        ("[systems.x.backends.loki]\nurl = 'loki:3100'", "url has no scheme; write http://loki:3100"),
        ("mask = 'emails'", "mask has to be a list"),
        ("mask = ['mails']", "mask.0 is 'mails'; choose from 'secrets', 'emails'"),
        ("accounts = 'maybe'", "accounts is 'maybe', which is not true or false"),
        ("trusted_proxies = ['x']", "trusted_proxies.0 has to be an address or a network"),
    ],
)
def test_a_wrong_setting_is_named(elsewhere: Path, text: str, names: str) -> None:
    (elsewhere / "revelio.toml").write_text(text)
    with pytest.raises(InvalidInputError, match=names):
        load_settings()


@pytest.mark.parametrize(
    ("variable", "value", "told"),
    [
        ("REVELIO_MODLE", "x", "REVELIO_MODLE in the environment is no setting; did you mean REVELIO_MODEL?"),
        ("REVELIO_SYSTEM__SHOP__PROJECT", "x", "did you mean REVELIO_SYSTEMS__SHOP__PROJECT?"),
        ("REVELIO_SLACK__BOT_TOKN", "x", "setting slack.bot_tokn is unknown; did you mean bot_token?"),
        ("REVELIO_CATALOG", "mine.yaml", """setting catalog: REVELIO_CATALOG has to be JSON, as in REVELIO_CATALOG='["..."]'"""),
        (
            "REVELIO_LEARNING",
            "daily",
            """setting learning: REVELIO_LEARNING has to be JSON, as in REVELIO_LEARNING='{"...": ...}'""",
        ),
    ],
)
def test_a_variable_that_cannot_be_used_says_what_to_write(
    variable: str, value: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(InvalidInputError) as error:
        load_settings()
    assert told in str(error.value)


@pytest.mark.parametrize("variable", ["REVELIO_SERVICE_HOST", "REVELIO_PORT_8000_TCP", "REVELIO_DEMO_PORT", "REVELIO_CACHE"])
def test_variables_of_others_are_left_alone(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "x")
    assert load_settings().port == 8000


def test_the_message_about_a_setting_does_not_show_what_may_be_a_password(elsewhere: Path) -> None:
    (elsewhere / "revelio.toml").write_text("[systems.x.backends.loki]\nurl = 'http://l'\nproxy = 'me:sesame@proxy'")
    with pytest.raises(InvalidInputError, match="proxy is not of the form") as error:
        load_settings()
    assert "sesame" not in str(error.value)


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
