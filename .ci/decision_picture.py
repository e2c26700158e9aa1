"""``python .ci/decision_picture.py``: draws docs/images/how-it-decides.svg from the model's answer about a bundled incident."""

from __future__ import annotations

import math
from html import escape
from pathlib import Path

from revelio.service import Service
from revelio.service.request import RecommendRequest
from revelio.settings import Settings
from revelio.types import RankedQuery

PICTURE = Path(__file__).parent.parent / "docs" / "images" / "how-it-decides.svg"
INCIDENT = "forum-02c35749e6"
SHOWN = 4
STEPS = ("tool", "template", "values")
HEADS = ("P(tool)", "P(kind of query | tool)", "P(place | kind)", "= P(query)")
ROW, BAR, FIRST, APART = 58, 150, 20, 215
STYLE = (
    "text{font:13px sans-serif;fill:#333}.faint{fill:#777}.bar{fill:#4051b5}.track{fill:#8884}"
    "@media(prefers-color-scheme:dark){text{fill:#ddd}.faint{fill:#999}.bar{fill:#7c8cf0}}"
)


def bar(column: int, top: int, share: float) -> str:
    """A share as a bar with its figure."""
    left = FIRST + column * APART
    return (
        f'<rect class="track" x="{left}" y="{top}" width="{BAR}" height="12" rx="3"/>'
        f'<rect class="bar" x="{left}" y="{top}" width="{max(2.0, share * BAR):.1f}" height="12" rx="3"/>'
        f'<text x="{left + BAR + 8}" y="{top + 11}">{share:.0%}</text>'
    )


def row(top: int, query: RankedQuery) -> str:
    """One query: its title, its three factors and their product."""
    factors = {factor.name: math.exp(factor.log_probability) for factor in query.factors}
    shares = [*(factors[step] for step in STEPS), query.probability]
    bars = "".join(bar(column, top + 20, share) for column, share in enumerate(shares))
    return (
        f'<text x="{FIRST}" y="{top + 12}">{query.rank}. {escape(query.query.title)} [{query.query.template.tool}]</text>{bars}'
    )


def main() -> None:
    """Write the picture."""
    service = Service(Settings(systems={}, database="sqlite:///:memory:"))
    report = service.incidents.get(INCIDENT).incident().report
    answer = service.rank(RecommendRequest(report, None, INCIDENT, k=SHOWN))
    heads = "".join(f'<text class="faint" x="{FIRST + i * APART}" y="24">{text}</text>' for i, text in enumerate(HEADS))
    rows = "".join(row(40 + place * ROW, query) for place, query in enumerate(answer.queries))
    high = 40 + SHOWN * ROW + 10
    PICTURE.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 880 {high}" role="img"><title>The factors of {SHOWN} queries'
        f"</title><style>{STYLE}</style>{heads}{rows}</svg>\n",
        encoding="utf-8",
    )
    service.close()


if __name__ == "__main__":
    main()
