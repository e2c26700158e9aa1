"""Settings are shown with where they come from, and never with a secret."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import SecretStr

from revelio.settings import Settings
from webui.views.settings import HIDDEN, active_settings, shown


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("database", "postgresql://revelio:s3cret@db:5432/r", "postgresql://***@db:5432/r"),
        ("database", "postgresql://revelio:p@ss:w@db/r", "postgresql://***@db/r"),
        ("database", "sqlite:///var/revelio.db", "sqlite:///var/revelio.db"),
        ("systems.shop.backends.x.url", "http://t0ken@x/a", "http://***@x/a"),
        ("systems.shop.backends.x.url", "http://me:12/3 4@x:9200/a", "http://***@x:9200/a"),
        ("systems.shop.backends.x.url", "//me:pass@x", "//***@x"),
        ("systems.shop.backends.x.url", "http://x/?api_key=abc&b=1", "http://x/?api_key=***&b=1"),
        ("systems.shop.backends.x.url", "http://x/?sv=1&sig=abc%2B", "http://x/?sv=1&sig=***"),
        ("systems.shop.backends.x.url", "host=x password='a b' dbname=y", "host=x password='***' dbname=y"),
        ("slack_bot_token", "xoxb-1", HIDDEN),
        ("slack_bot_token", "", ""),
        ("token_file", "/run/secrets/token", "/run/secrets/token"),
        ("anything", SecretStr("x"), HIDDEN),
        ("anything", SecretStr(""), ""),
        ("catalog", [Path("a.yaml"), Path("b.yaml")], "a.yaml, b.yaml"),
        ("incidents", None, ""),
    ],
)
def test_a_setting_is_shown_without_its_secrets(name: str, value: object, text: str) -> None:
    assert shown(name, value) == text


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
    assert found["systems.mine.backends.prometheus.url"] == ("http://***@p:9090", str(file))
    assert found["systems.mine.window_s"] == ("", "default")


def test_every_setting_has_a_row() -> None:
    tops = {s.name.split(".")[0] for s in active_settings(Settings(systems={}), {})}
    assert tops == set(Settings.model_fields)
