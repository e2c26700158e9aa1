"""``revelio docs``."""

from __future__ import annotations

from pathlib import Path

from tests.cli.made import CommandLine

ROOT = Path(__file__).parent.parent.parent


def test_pages_are_listed_and_printed(revelio: CommandLine) -> None:
    listed = {one["page"]: one["title"] for one in revelio("docs", "--json").json}
    assert listed["accounts"].startswith("Accounts")
    assert revelio("docs", "how-to/accounts.md").out == (ROOT / "docs/how-to/accounts.md").read_text(encoding="utf-8")
    assert revelio("docs", "grafana-dashboard.json").out.startswith("{")
    unknown = revelio("docs", "../../pyproject")
    assert (unknown.code, "`revelio docs` lists" in unknown.err) == (1, True)
