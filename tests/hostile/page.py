"""``python -m tests.hostile.page [FILE...]``: writes the table of the last ``make test-hostile`` into docs/results-hostile.md.

Several files are runs of parts of it, added up.
"""

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
    kept = [Path(name) for name in sys.argv[1:]] or [KEPT]
    missing = [str(path) for path in kept if not path.is_file()]
    if missing:
        sys.exit(f"there is no {', '.join(missing)}; run `make test-hostile` first")
    table = markdown(sum(map(Tally.load, kept), Tally()))
    PAGE.write_text(pasted(PAGE.read_text(encoding="utf-8"), table), encoding="utf-8")


if __name__ == "__main__":
    main()
