"""No output holds the password of a backend's address, whatever the backend does; names cannot steer the terminal."""

from __future__ import annotations

import json
import socket
import threading
from pathlib import Path

import pytest

from revelio.cli import output
from tests.cli.made import CommandLine
from tests.test_secrets_stay_in import SECRET_PARTS, echo_all, found_in
from tests.tools.ill_server import BEHAVIOURS, HEAD, ill_server, say
from tests.tools.test_limits import ADDRESSES

CANARY = "canary%40-7f3a91"
FORMS = ("7f3a91", "Y2FuYXJ5")
"""Parts of the canary as it is written, and in base 64."""


def echo(connection: socket.socket, stop: threading.Event) -> None:
    """An error that repeats what the client must have sent."""
    said = json.dumps({"error": "no: Basic Y2FuYXJ5OmNhbmFyeUAtN2YzYTkx", "errors": [{"msg": "canary@-7f3a91"}]}).encode()
    connection.sendall(HEAD.replace(b"200 OK", b"400 No") + f"Content-Length: {len(said)}\r\n\r\n".encode() + said)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # a verb leaves its connections to the end
@pytest.mark.parametrize("how", ["echoes", "lies", "hangs up", "speaks another language", "is not there", "is no address"])
def test_no_output_holds_a_backends_password(
    how: str, revelio: CommandLine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    behave = echo if how == "echoes" else BEHAVIOURS.get(how, say(b""))
    with ill_server(behave) as address:
        place = {"is not there": "127.0.0.1:9", "is no address": "[:x"}.get(how, address)
        urls = {t: a.format(f"canary:{CANARY}@{place}").replace("observer@", "") for t, a in ADDRESSES.items()}
        backends = {t: {"url": u} for t, u in urls.items() if t != "tcpdump"}
        monkeypatch.setenv("REVELIO_SYSTEMS", json.dumps({"shop": {"backends": backends}}))
        monkeypatch.setenv("REVELIO_TIMEOUT_S", "1")
        monkeypatch.setenv("REVELIO_DATABASE", f"postgresql://canary:{CANARY}@127.0.0.1:9/x")
        told = [revelio("doctor"), revelio("doctor", "--json"), revelio("store", "export", "--to", "out")]
        monkeypatch.setenv("REVELIO_DATABASE", "sqlite:///kept.db")
        told += [revelio("recommend", "the cart hangs", "--system", "shop", "--run", *more) for more in ((), ("--json",))]
    everything = "\n".join([r.out + r.err for r in told] + [r.getMessage() for r in caplog.records])
    everything += "".join(p.read_bytes().decode("latin-1") for p in tmp_path.rglob("*") if p.is_file())
    assert "shop: elasticsearch" in everything
    assert [form for form in FORMS if form in everything] == []


@pytest.mark.parametrize("between", ["/", " ", "@", "12/3@", "%2F"])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_no_verb_prints_a_part_of_a_secret(
    between: str, revelio: CommandLine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    secret = SECRET_PARTS[0] + between + SECRET_PARTS[1]
    with ill_server(echo_all) as place:
        address = f"http://me:{secret}@{place}"
        monkeypatch.setenv("REVELIO_TIMEOUT_S", "0.5")
        calls = [
            ("init", "--source", f"loki={address}"),
            ("catalog", "import", "rules", address),
            ("catalog", "imports"),
            ("store", "migrate", "--to", f"postgresql://me:{secret}@{place}/x"),
        ]
        told = {call: revelio(*call) for call in calls}
        monkeypatch.setenv("REVELIO_SYSTEMS", json.dumps({"shop": {"backends": {"loki": {"url": address}}}}))
        more = [("doctor",), ("store", "export", "--to", "out"), ("recommend", "it hangs", "--system", "shop", "--run")]
        told |= {call: revelio(*call) for call in more}
    assert {call[:2]: ran.out + ran.err for call, ran in told.items() if found_in(ran.out + ran.err)} == {}
    assert [call[:2] for call, ran in told.items() if "Traceback" in ran.out + ran.err] == []
    files = [p for p in tmp_path.rglob("*") if p.is_file()]
    assert [p for p in files if found_in(p.read_bytes().decode("latin-1")) and p.stat().st_mode & 0o077] == []


def test_names_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    evil = "cart\x1b]0;x\x07\x1b[2J\x9b31m\u202e"
    output.table(evil, [evil], [[evil]])
    output.emit({evil: evil})
    output.say(evil)
    output.complain(evil)
    shown = "".join(capsys.readouterr())
    assert "cart\\x1b]0;x" in shown
    assert not set(shown) & {"\x1b", "\x07", "\x9b"}
