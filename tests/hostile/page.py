"""``python -m tests.hostile.page``: writes the table of the last ``make test-hostile`` into docs/results-hostile.md."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.hostile.tally import KEPT, Tally, markdown

PAGE = Path("docs/results-hostile.md")
BEGIN, END = "<!-- table: make test-hostile -->", "<!-- end of table -->"


def pasted(page: str, table: str) -> str:
    """The page with this table between its marks. Raises ``ValueError`` where the page has none."""
    before, mark, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not mark or not end:
        raise ValueError(f"{PAGE} has no marks {BEGIN} and {END}")
    return f"{before}{BEGIN}\n{table}{END}{after}"


def main() -> None:
    """Paste."""
    if not KEPT.is_file():
        sys.exit(f"there is no {KEPT}; run `make test-hostile` first")
    table = markdown(Tally.load())
    PAGE.write_text(pasted(PAGE.read_text(encoding="utf-8"), table), encoding="utf-8")


if __name__ == "__main__":
    main()
