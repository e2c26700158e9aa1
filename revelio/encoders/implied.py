"""What a question reads whose template does not say so: the figures that are called most like it.

A catalog of functions that an assistant may call seldom says in which figures their answers would show. Their names do:
``get_error_logs`` is about error lines, ``memory_usage`` about memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from revelio.encoders.evidence import Figure
from revelio.encoders.report import TextEncoder
from revelio.encoders.words import figure_words, question_words
from revelio.types import QueryTemplate, Reading

MOST = 3
"""Figures that one question is taken to read."""
NEAR = 0.1
"""How much less alike than the most alike a figure may be."""
LEAST = 0.25
"""The cosine from which on a figure is like a question at all."""


def implied_reads(
    templates: Sequence[QueryTemplate], there: Sequence[Sequence[Figure]], text: TextEncoder
) -> dict[str, tuple[Reading, ...]]:
    """By template id what each of ``templates`` is taken to read of the figures that are ``there``, where it may be asked."""
    figures = tuple(dict.fromkeys(figure for some in there for figure in some))
    if not figures:
        return {}
    column = {figure: i for i, figure in enumerate(figures)}
    alike = text.encode([question_words(t) for t in templates]) @ text.encode([figure_words(f) for f in figures]).T
    found = {}
    for template, some, row in zip(templates, there, alike.tolist(), strict=True):
        best = sorted(((row[column[f]], f) for f in some), reverse=True)[:MOST]
        enough = max(LEAST, best[0][0] - NEAR) if best else LEAST
        found[template.id] = tuple(Reading(*figure, "both") for like, figure in best if like >= enough)
    return found
