"""What a question reads whose template does not say so: the figures that are called most like it.

A catalog of functions that an assistant may call seldom says in which figures their answers would show. Their names do:
``get_error_logs`` is about error lines, ``memory_usage`` about memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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


Reads = Mapping[str, tuple[Reading, ...]]
"""What templates read, by their id."""


def resolve_reads(
    templates: Sequence[QueryTemplate], there: Sequence[Sequence[Figure]], text: TextEncoder, learned: Reads
) -> dict[str, tuple[Reading, ...]]:
    """``infer_reads``, but for templates of which is ``learned`` what they read.

    What is there in one incident is not all that could be: a figure of failures is often there only when something failed.
    What was learnt is no help where none of its figures is there at all: another system calls them otherwise.
    """
    known = {figure for some in there for figure in some}
    spoken = any((r.source, r.metric) in known for reads in learned.values() for r in reads)
    sure = {t.id: learned[t.id] for t in templates if t.id in learned} if spoken else {}
    unsure = [(t, some) for t, some in zip(templates, there, strict=True) if t.id not in sure]
    return sure | infer_reads([t for t, _ in unsure], [some for _, some in unsure], text)


def infer_reads(
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
