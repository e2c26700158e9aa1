"""A trained ranker on ONNX Runtime: incident and candidates in, ranking out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from revelio.encoders.inference import open_session
from revelio.encoders.inferred_reads import Reads
from revelio.encoders.null_distribution import NullDistributions
from revelio.encoders.query import EncodedIncident, QueryEncoder
from revelio.encoders.report import CachingEncoder, Floats, TextEncoder
from revelio.encoders.static_words import StaticWords
from revelio.errors import ArtifactError
from revelio.ranker.head import Head
from revelio.ranker.retrieved import by_report
from revelio.ranker.scoring import Calibration, Logits, Ranking, cap_uncovered_metrics, penalized, rank
from revelio.retrieval.imported_questions import ImportedQuestions
from revelio.types import Incident, Query

INPUTS = (
    "report",
    "tool_text",
    "template_text",
    "features",
    "components",
    "incident_of_tool",
    "tool_of_template",
    "template_of_query",
    "incident_of_component",
    "near",
    "incident_of_near",
)
OUTPUTS = ("tool", "template", "value", "abstain")
_REPORTS = 32
"""The vectors of so many reports are cached, because an incident is ranked again after each run."""


class Ranker:
    """Ranks candidates. One instance serves many threads: ONNX Runtime sessions are thread-safe."""

    def __init__(
        self,
        name: str,
        text: TextEncoder,
        weights: Path,
        calibration: Calibration,
        tool_texts: Mapping[str, str],
        noise: Mapping[str, float],
        nulls: NullDistributions,
        reads: Reads | None = None,
        known: Mapping[str, Floats] | None = None,
        words: StaticWords | None = None,
    ) -> None:
        """``weights`` is the ONNX network, ``known`` the precomputed vectors of texts; the rest comes from the model folder."""
        self._session = open_session(weights)
        self.name = name
        self.text = text
        self.calibration = calibration
        self._words = words
        self._reports = CachingEncoder(text, size=_REPORTS)
        self.encoder = QueryEncoder(CachingEncoder(text, known=known), tool_texts, noise, nulls, reads, words)
        self._imported = ImportedQuestions(self.encoder.text)
        self.head: Head | None = None
        self._aside = ThreadPoolExecutor(2, thread_name_prefix="evidence")

    def with_head(self, head: Head | None, name: str) -> Ranker:
        """This ranker with a head learned from feedback, under the name of that version; network and encoders are shared."""
        other = copy(self)
        other.head, other.name = head, name
        return other

    def encode(self, incident: Incident, queries: tuple[Query, ...]) -> EncodedIncident:
        """The arrays that the network reads. A report without a word that the model knows counts as none."""
        if not self.understands(incident.report):
            incident = replace(incident, report="")
        # Encoding the report releases the interpreter lock, so evidence is encoded meanwhile.
        seen = self._aside.submit(self.encoder.prepare, incident.evidence, queries)
        report = self._reports.encode([incident.report])[0]
        seen.result()
        encoded = self.encoder.encode(incident, queries, report)
        return replace(encoded, retrieved=self._imported.scores(incident, queries, report))

    def understands(self, report: str) -> bool:
        """Whether a report has a word that the model knows. A model without static words cannot tell, and takes it so."""
        return self._words is None or self._words.knows(report)

    def rank_without_report(self, incident: Incident, queries: tuple[Query, ...]) -> Future[Ranking]:
        """The ranking by the evidence alone, in another thread. Cheap after ``encode``: evidence is encoded once."""
        silent = replace(incident, report="")
        nothing = self._reports.encode([""])[0]
        return self._aside.submit(lambda: self.rank(self.encoder.encode(silent, queries, nothing)))

    def logits(self, encoded: EncodedIncident) -> Logits:
        """One pass of the network."""
        outputs = self._session.run(list(OUTPUTS), network_inputs([encoded]))
        if not all(np.isfinite(output).all() for output in outputs):
            raise ArtifactError(
                f"the model {self.name} gives values that are not numbers; restore its folder or train a new model"
            )
        tool, template, value, abstain = outputs
        return Logits(tool, template, value, float(abstain[0]))

    def rank(self, encoded: EncodedIncident, unrun: Logits | None = None) -> Ranking:
        """Calibrated probabilities, with what the head learned since training.

        ``unrun`` are the logits of the same incident before any query was run, where the caller has them.
        """
        ranking = by_report(self.rank_without_head(encoded, unrun=unrun), encoded, encoded.retrieved)
        return ranking if self.head is None else self.head.apply(encoded, ranking)

    def rank_without_head(self, encoded: EncodedIncident, temperature: float = 1.0, unrun: Logits | None = None) -> Ranking:
        """The ranking without a head; a higher ``temperature`` flattens it."""
        logits = unrun if unrun is not None and not encoded.feature("near_run").any() else self.logits(encoded)
        return cap_uncovered_metrics(rank(encoded, logits, self.calibration, temperature), encoded)

    def rank_after_runs(self, incident: Incident, queries: tuple[Query, ...]) -> Ranking:
        """Encode and rank; queries that were run did not show the cause. Without candidates: empty, no-fault probability 1."""
        if not queries:
            empty = np.zeros(0, dtype=np.float32)
            return Ranking((), empty, empty, empty, 1.0)
        encoded = self.encode(incident, queries)
        return penalized(self.rank(encoded), encoded, np.flatnonzero(encoded.feature("run")))


def network_inputs(incidents: Sequence[EncodedIncident]) -> dict[str, NDArray[Any]]:
    """Concatenated incidents by the input names of the network: features as float32, indices as int64."""
    tools = np.cumsum([0, *(len(x.tools) for x in incidents)])
    templates = np.cumsum([0, *(len(x.templates) for x in incidents)])
    near = np.cumsum([0, *(int(x.near.max()) + 1 for x in incidents)])
    every = range(len(incidents))
    features = {
        "report": np.stack([x.report for x in incidents]),
        "tool_text": np.concatenate([x.tool_text for x in incidents]),
        "template_text": np.concatenate([x.template_text for x in incidents]),
        "features": np.concatenate([x.features for x in incidents]),
        "components": np.concatenate([x.components for x in incidents]),
    }
    indices = {
        "incident_of_tool": np.repeat(every, np.diff(tools)),
        "tool_of_template": np.concatenate([x.tool_of + tools[i] for i, x in enumerate(incidents)]),
        "template_of_query": np.concatenate([x.template_of + templates[i] for i, x in enumerate(incidents)]),
        "incident_of_component": np.repeat(every, [len(x.components) for x in incidents]),
        "near": np.concatenate([x.near + near[i] for i, x in enumerate(incidents)]),
        "incident_of_near": np.repeat(every, np.diff(near)),
    }
    inputs = {name: np.ascontiguousarray(value, dtype=np.float32) for name, value in features.items()}
    return inputs | {name: np.ascontiguousarray(value, dtype=np.int64) for name, value in indices.items()}
