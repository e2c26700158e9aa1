"""Pages about accounts in a language made on the fly."""

from __future__ import annotations

from pathlib import Path

from tests.webui.accounts.conftest import PAGE, Server
from tests.webui.pseudo import LANGUAGE, pseudo_language
from tests.webui.untranslated import OPEN, left_in_english

GERMAN = {"accept-language": LANGUAGE}
DATA = {"admin", "responder", "viewer", "test", "testclient", "relay", "server", "first start"}
"""Names, and what the audit trail says to programs as well."""


def test_nothing_of_the_pages_about_accounts_stays_english(shared: Server, tmp_path: Path) -> None:
    admin = shared.browser("admin")
    with pseudo_language(tmp_path):
        pages = [admin.get(address, headers=GERMAN) for address in ("/account", "/people", "/audit")]
        pages += [shared.client.get("/sign-in", headers=GERMAN)]
        token = {"name": "relay", "role": "viewer", "days": ""}
        pages += [admin.post("/account/tokens", data={**token, "days": days}, headers=PAGE | GERMAN) for days in ("", "x")]
        pages += [shared.browser("viewer").get("/people", headers=GERMAN)]
    trail = {text for entry in shared.store.audit.list(50) for text in (entry.action, entry.target, entry.detail)}
    assert {text for page in pages for text in left_in_english(page.text, DATA | trail)} == set()
    assert all(OPEN in page.text for page in pages)
