"""Words of texts and of queries, for the lexical baselines."""

from __future__ import annotations

import re

from revelio.types import Query, fill


def words(text: str) -> list[str]:
    """Lower-case words; a plural is its singular."""
    return [w[:-1] if len(w) > 3 and w.endswith("s") else w for w in re.findall(r"[a-z0-9]+", text.lower())]


def query_words(query: Query) -> list[str]:
    """The words of a query: its title, what it shows, its tool and its targets."""
    template = query.template
    return words(f"{query.title} {fill(template.shows, query.bindings)} {template.tool} {' '.join(v for _, v in query.bindings)}")
