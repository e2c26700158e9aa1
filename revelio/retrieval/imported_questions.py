"""Imported questions by meaning: how well each answers the report, where no evidence says anything about it.

Lexical and dense retrieval are added up, each standardised over the questions (Bruch et al., 2023): exact names and other words
for the same thing both count.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from revelio.encoders.identity_cache import cached_by_identity
from revelio.encoders.report import Floats, TextEncoder
from revelio.types import Evidence, Incident, Query, QueryTemplate

_WORD = re.compile(r"[^\W\d_]{2,}|[0-9]+")
_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_MOST = 1_000
"""Characters of a question that are encoded; the encoder truncates anyway."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """The imported templates among some candidates: ``number [N]`` of each candidate's template, -1 for others."""

    templates: tuple[QueryTemplate, ...]
    number: np.ndarray
    lexical: Any
    dense: Floats

    def lexical_scores(self, said: str) -> Floats:
        """``[T]``: BM25 of what was said."""
        asked = sorted(set(words(said)) & self.lexical.vocab_dict.keys())
        none = np.zeros(len(self.templates), dtype=np.float32)
        return np.asarray(self.lexical.get_scores(asked) if asked else none, dtype=np.float32)


class ImportedQuestions:
    """Scores imported questions by a report. Safe to share between threads; indices of the last candidates are cached."""

    def __init__(self, text: TextEncoder) -> None:
        """``text`` encodes reports and questions."""
        self._text = text
        self.corpus = cached_by_identity(self._read)

    def scores(self, incident: Incident, queries: tuple[Query, ...], report: Floats) -> Floats | None:
        """``[N]``: the score of each candidate, NaN where evidence speaks or the question is not imported; None for no scores.

        ``report`` is the vector of the report.
        """
        corpus = self.corpus(queries) if incident.report.strip() else None
        if corpus is None or not corpus.templates:
            return None
        silent = np.array([_silent(template, incident.evidence) for template in corpus.templates])
        if not silent.any():
            return None
        both = _standardised(corpus.lexical_scores(incident.report)) + _standardised(corpus.dense @ report)
        found = np.where(silent, both, np.nan)
        return np.where(corpus.number >= 0, found[corpus.number], np.nan).astype(np.float32)

    def _read(self, queries: tuple[Query, ...]) -> Corpus:
        templates = tuple({q.template.id: q.template for q in queries if q.template.origin}.values())
        place = {template.id: at for at, template in enumerate(templates)}
        number = np.array([place.get(q.template.id, -1) for q in queries], dtype=np.int64)
        texts = [question_text(template) for template in templates]
        dense = self._text.encode(texts) if templates else np.zeros((0, self._text.dimension), np.float32)
        return Corpus(templates, number, lexical_index(texts) if templates else None, dense)


def question_text(template: QueryTemplate) -> str:
    """Everything that a question says of itself: title, what it shows, whose it is, and the words of its query."""
    credit = template.origin.credit if template.origin else ""
    parts = (template.title, template.shows.removesuffix(credit), credit, template.body)
    return " ".join(spelled(part) for part in parts)[:_MOST]


def spelled(text: str) -> str:
    """A text with its names spelled as words: ``kube_pod_status``, ``KubePodCrashLooping``."""
    return " ".join(re.sub(r"[^\w.,:?!'-]+|_", " ", _CAPITAL.sub(" ", text)).split())


def words(text: str) -> list[str]:
    """The words of a text for lexical retrieval, in lower case; a plural is its singular."""
    found = _WORD.findall(spelled(text).lower())
    return [w[:-1] if len(w) > 3 and w.endswith("s") and not w.endswith(("ss", "us", "is")) else w for w in found]


def lexical_index(texts: Sequence[str]) -> Any:
    """BM25 over texts. The import takes a while, and only imported questions need it."""
    import bm25s  # noqa: PLC0415

    index = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    # A corpus without a word cannot be indexed: the mark stands in each, and weighs nothing.
    index.index([[*words(text), "\0"] for text in texts], show_progress=False)
    return index


def _silent(template: QueryTemplate, evidence: Evidence) -> bool:
    """Whether the evidence holds nothing that the question reads."""
    metrics = {s.metric for s in evidence.series}
    return all(r.metric not in metrics if r.source == "series" else not getattr(evidence, r.source) for r in template.reads)


def _standardised(values: Floats) -> Floats:
    spread = float(values.std())
    return np.asarray((values - values.mean()) / spread if spread > 0.0 else np.zeros_like(values), dtype=np.float32)
