"""A candidate's factors in words: each conditional probability with the facts that weighed most."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from revelio.encoders.candidate_index import bound_names
from revelio.encoders.evidence import component, squash
from revelio.encoders.null_distribution import ONE_IN
from revelio.encoders.query import FEATURES, EncodedIncident
from revelio.ranker.scoring import Ranking
from revelio.support.anomaly import SIGNIFICANT_SIGMA
from revelio.types import Factor

_FAMILY_FACTS = {
    "series_up": "A metric of {target} is above its baseline",
    "series_down": "A metric of {target} is below its baseline",
    "latency": "{target} is slower than its baseline",
    "errors": "{target} fails more often than its baseline",
    "self_time": "{target} spends more time in its own code",
    "logs": "{target} logs more errors and warnings",
    "changes": "The state of {target} changed",
}
_TEXT_MATCH = ("Best", "Second-best", "Third-best")
_ANOMALOUS = float(squash(np.array([SIGNIFICANT_SIGMA], dtype=np.float32))[0])
_MIN_DEVIATION = 0.25
"""Squashed deviation (about 1σ) below which a reading is not mentioned."""

_MIN_RARITY = 0.5
"""The rarity (1 in 10 incidents) above which it is mentioned."""

_MIN_GAIN = 0.7
"""By how much feedback has to change a log-probability, either way, to be mentioned: about a factor of 2."""


def factors(
    encoded: EncodedIncident, ranking: Ranking, index: int, titles: Mapping[str, str] | None = None
) -> tuple[Factor, ...]:
    """Tool, template and (where the template has blanks) values, for candidate ``index`` of the ranking.

    ``titles`` gives tools by name as people call them; a tool without one goes by its name.
    """
    query = encoded.queries[index]
    title = (titles or {}).get(query.template.tool, query.template.tool)
    parts = [
        Factor("tool", float(ranking.log_tool[index]), _tool_facts(encoded, index, title)),
        Factor("template", float(ranking.log_template[index]), _learned_facts(ranking, index) + _template_facts(encoded, index)),
    ]
    facts = _value_facts(encoded, index) if query.bindings else ()
    parts.append(Factor("values", float(ranking.log_value[index]), facts))
    return tuple(parts)


def _tool_facts(encoded: EncodedIncident, index: int, title: str) -> tuple[str, ...]:
    own = encoded.tool_of[encoded.template_of] == encoded.tool_of[encoded.template_of[index]]
    if not encoded.feature("present")[own].any():
        return (f"No {title} data in the snapshot; ranked on the report alone",)
    anomalous, count = int((own & (encoded.feature("worst") >= _ANOMALOUS)).sum()), int(own.sum())
    queries = f"{count:,} {title} {'query' if count == 1 else 'queries'}"
    if not anomalous:
        return (f"No anomaly in {queries}",)
    return (f"{anomalous:,} of {queries} {'is' if anomalous == 1 else 'are'} anomalous",)


def _learned_facts(ranking: Ranking, index: int) -> tuple[str, ...]:
    if not len(ranking.learned) or abs(float(ranking.learned[index])) < _MIN_GAIN:
        return ()
    return (f"{'Raised' if ranking.learned[index] > 0 else 'Lowered'} by feedback on earlier answers",)


def _template_facts(encoded: EncodedIncident, index: int) -> tuple[str, ...]:
    template = int(encoded.template_of[index])
    own = encoded.template_of == template
    facts = []
    if encoded.feature("present")[own].any():
        peak = float(encoded.feature("worst")[own].max())
        if abs(peak) < _MIN_DEVIATION:
            facts.append("No anomaly")
        elif _reads_changes(encoded, template):
            facts.append(f"A change during the incident{_rare(encoded, own, 'shows one')}")
        else:
            facts.append(f"Peak deviation {_sigma(peak)} from baseline{_rare(encoded, own, 'deviates this much')}")
    similarity = encoded.template_text @ encoded.report
    better = int((similarity > similarity[template]).sum())
    if better < len(_TEXT_MATCH):
        facts.append(f"{_TEXT_MATCH[better]} text match with the report")
    return tuple(facts)


def _value_facts(encoded: EncodedIncident, index: int) -> tuple[str, ...]:
    template = int(encoded.template_of[index])
    name = bound_names(encoded.queries[index])[0]
    target, here = name.replace("->", " to "), component(name)
    read = dict(zip(FEATURES, encoded.features[index].tolist(), strict=True))
    weighed: list[tuple[float, str]] = []
    if read["present"] and abs(read["worst"]) >= _MIN_DEVIATION:
        peers = int((encoded.template_of == template).sum())
        largest = f", largest deviation of {peers:,} targets" if read["best"] and peers > 1 else ""
        changed = _reads_changes(encoded, template)
        fact = "Changed during the incident" if changed else f"{_sigma(read['worst'])} from baseline{largest}"
        weighed.append((abs(read["worst"]) + read["best"], fact))
    if read["mentioned"] > 0:
        weighed.append((1.5 * read["mentioned"], f"The report mentions {target}"))
    elif read["name_similarity_rank"] >= 1.0:
        weighed.append((0.4, f"{target} is the best text match with the report"))
    for family, words in _FAMILY_FACTS.items():
        value = read[family]
        if value >= _ANOMALOUS:
            standing = read[f"{family}_rank"]
            most = ", more than any other component" if standing >= 1.0 else ""
            weighed.append((value * (0.5 + standing), words.format(target=here) + most))
    return tuple(text for _, text in sorted(weighed, key=lambda w: -w[0])[:3])


def _reads_changes(encoded: EncodedIncident, template: int) -> bool:
    """Whether all that the template reads are discrete changes, whose deviation is a constant."""
    return {r.source for r in encoded.templates[template].reads} == {"changes"}


def _sigma(squashed: float) -> str:
    """The deviation in words; undoes ``squash``."""
    deviation = float(np.expm1(3.0 * abs(squashed)))
    return f"{deviation:.0f}σ" if deviation < 100 else "over 100σ"


def _rare(encoded: EncodedIncident, own: np.ndarray, verb: str) -> str:
    """How few incidents with other causes show as much; "" when many do."""
    rarity = float(encoded.feature("rarity")[own].max())
    return f"; 1 in {ONE_IN**rarity:,.0f} incidents with another cause {verb}" if rarity >= _MIN_RARITY else ""
