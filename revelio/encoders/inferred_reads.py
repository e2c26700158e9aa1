"""Infers the figures that a template reads when it declares none: those with the most similar names.

A catalog of functions for an assistant rarely declares the figures that their results show. The names tell:
``get_error_logs`` reads error lines, ``memory_usage`` reads memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from revelio.encoders.evidence import Figure
from revelio.encoders.report import TextEncoder
from revelio.encoders.words import callable_words, figure_words
from revelio.types import QueryTemplate, Reading

MAX_READS = 3
"""Inferred reads per template."""
MARGIN = 0.1
"""How much less similar than the best match a figure may be."""
MIN_SIMILARITY = 0.25
"""Figures with a lower cosine are not read."""


Reads = Mapping[str, tuple[Reading, ...]]
"""Reads by template id."""


def resolve_reads(
    templates: Sequence[QueryTemplate], there: Sequence[Sequence[Figure]], text: TextEncoder, learned: Reads
) -> dict[str, tuple[Reading, ...]]:
    """``infer_reads``, except for templates whose reads were ``learned`` in training.

    One incident does not contain every figure: a counter of failures often exists only after a failure. Learned reads are
    ignored when none of their figures exists, because another system names them differently.
    """
    known = {figure for some in there for figure in some}
    spoken = any((r.source, r.metric) in known for reads in learned.values() for r in reads)
    sure = {t.id: learned[t.id] for t in templates if t.id in learned} if spoken else {}
    unsure = [(t, some) for t, some in zip(templates, there, strict=True) if t.id not in sure]
    return sure | infer_reads([t for t, _ in unsure], [some for _, some in unsure], text)


def infer_reads(
    templates: Sequence[QueryTemplate], there: Sequence[Sequence[Figure]], text: TextEncoder
) -> dict[str, tuple[Reading, ...]]:
    """The inferred reads of each template by id, among ``there``: the figures of the entities that it can be bound to."""
    figures = tuple(dict.fromkeys(figure for some in there for figure in some))
    if not figures:
        return {}
    column = {figure: i for i, figure in enumerate(figures)}
    similarity = text.encode([callable_words(t) for t in templates]) @ text.encode([figure_words(f) for f in figures]).T
    found = {}
    for template, some, row in zip(templates, there, similarity.tolist(), strict=True):
        best = sorted(((row[column[f]], f) for f in some), reverse=True)[:MAX_READS]
        enough = max(MIN_SIMILARITY, best[0][0] - MARGIN) if best else MIN_SIMILARITY
        found[template.id] = tuple(Reading(*figure, "both") for score, figure in best if score >= enough)
    return found
