"""Settings are shown with where they come from, and never with a secret."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import SecretStr

from revelio.settings import Settings
from webui.views.settings import HIDDEN, active_settings, masked, without_passwords


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("database", "postgresql://revelio:s3cret@db:5432/r", "postgresql://revelio:••••@db:5432/r"),
        ("database", "postgresql://revelio:p@ss:w@db/r", "postgresql://revelio:••••@db/r"),
        ("database", "sqlite:///var/revelio.db", "sqlite:///var/revelio.db"),
        ("systems.shop.backends.x.url", "http://x/?api_key=abc&b=1", "http://x/?api_key=••••&b=1"),
        ("slack_bot_token", "xoxb-1", HIDDEN),
        ("slack_bot_token", "", ""),
        ("anything", SecretStr("x"), HIDDEN),
        ("anything", SecretStr(""), ""),
        ("catalog", [Path("a.yaml"), Path("b.yaml")], "a.yaml, b.yaml"),
        ("incidents", None, ""),
    ],
)
def test_masked(name: str, value: object, shown: str) -> None:
    assert masked(name, value) == shown


def test_text_around_an_address_stays() -> None:
    words = "cannot be reached at http://me:secret@127.0.0.1:9: refused; is it http://there ?"
    assert without_passwords(words) == "cannot be reached at http://me:••••@127.0.0.1:9: refused; is it http://there ?"


def test_each_setting_names_its_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('timeout_s = 2.0\n[systems.mine.backends.prometheus]\nurl = "http://me:secret@p:9090"\n', encoding="utf-8")
    monkeypatch.setenv("REVELIO_CONFIG", str(file))
    monkeypatch.setenv("REVELIO_MAX_REPORT_CHARS", "500")
    settings = Settings().model_copy(update={"port": 9000})
    found = {s.name: (s.value, s.source) for s in active_settings(settings)}
    assert found["timeout_s"] == ("2.0", str(file))
    assert found["max_report_chars"] == ("500", "REVELIO_MAX_REPORT_CHARS")
    assert found["port"] == ("9000", "given at the start")
    assert found["host"] == ("127.0.0.1", "default")
    assert found["systems.mine.backends.prometheus.url"] == ("http://me:••••@p:9090", str(file))
    assert found["systems.mine.window_s"] == ("", "default")


def test_every_setting_has_a_row() -> None:
    tops = {s.name.split(".")[0] for s in active_settings(Settings(systems={}), {})}
    assert tops == set(Settings.model_fields)
