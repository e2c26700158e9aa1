"""A candidate's factors in words: each conditional probability with the facts that weighed most."""

from __future__ import annotations

import numpy as np

from revelio.anomaly import SIGNIFICANT_SIGMA
from revelio.encoders.candidate_index import bound_names
from revelio.encoders.evidence import component, squash
from revelio.encoders.null_distribution import ONE_IN
from revelio.encoders.query import FEATURES, EncodedIncident
from revelio.ranker.scoring import Ranking
from revelio.types import Factor

_FAMILY_WORDS = {
    "series_up": "a metric of {place} rose",
    "series_down": "a metric of {place} fell",
    "latency": "{place} answers more slowly than before",
    "errors": "requests at {place} fail more often",
    "self_time": "time is spent inside {place} itself",
    "logs": "{place} logs more problems than before",
    "changes": "the state of {place} changed",
}
_PRESENT = float(squash(np.array([SIGNIFICANT_SIGMA], dtype=np.float32))[0])
_SAYS_NOTHING = 0.25
"""Squashed distance (about 1 spread) under which a figure is not worth a word."""

_SELDOM = 0.5
"""The surprise, one incident in ten, from which on it is worth a word."""

_WORTH_SAYING = 0.7
"""By how much feedback has to change a log-probability, either way, before it is worth a word: about a factor of 2."""


def factors(encoded: EncodedIncident, ranking: Ranking, index: int) -> tuple[Factor, ...]:
    """Tool, template and (where the template has blanks) values, for candidate ``index`` of the ranking."""
    query = encoded.queries[index]
    parts = [
        Factor("tool", float(ranking.log_tool[index]), _tool_facts(encoded, index)),
        Factor("template", float(ranking.log_template[index]), _learned_facts(ranking, index) + _template_facts(encoded, index)),
    ]
    facts = _value_facts(encoded, index) if query.bindings else ()
    parts.append(Factor("values", float(ranking.log_value[index]), facts))
    return tuple(parts)


def _tool_facts(encoded: EncodedIncident, index: int) -> tuple[str, ...]:
    tool = int(encoded.tool_of[encoded.template_of[index]])
    own = encoded.tool_of[encoded.template_of] == tool
    lit = len(set(encoded.template_of[own & (encoded.feature("worst") >= _PRESENT)].tolist()))
    name = encoded.tools[tool]
    if not encoded.feature("present")[own].any():
        return (f"the snapshot holds nothing that {name} would show; the report alone speaks for it",)
    return (f"{lit} of {int((encoded.tool_of == tool).sum())} questions for {name} would show something out of the ordinary",)


def _learned_facts(ranking: Ranking, index: int) -> tuple[str, ...]:
    if not len(ranking.learned) or abs(float(ranking.learned[index])) < _WORTH_SAYING:
        return ()
    return ("what people said of earlier answers speaks " + ("for it" if ranking.learned[index] > 0 else "against it"),)


def _template_facts(encoded: EncodedIncident, index: int) -> tuple[str, ...]:
    template = int(encoded.template_of[index])
    own = encoded.template_of == template
    facts = []
    if encoded.feature("present")[own].any():
        reading = _reading(encoded, template, float(encoded.feature("worst")[own].max()))
        seldom = _seldom(float(encoded.feature("rarity")[own].max()))
        facts.append(f"at its clearest place {reading}{seldom}" if reading else "all that it would show is as before")
    similarity = encoded.template_text @ encoded.report
    place = int((similarity > similarity[template]).sum()) + 1
    if place <= 3:
        facts.append(f"its wording is {_ordinal(place)} closest to the report")
    return tuple(facts)


def _value_facts(encoded: EncodedIncident, index: int) -> tuple[str, ...]:
    template = int(encoded.template_of[index])
    name = bound_names(encoded.queries[index])[0]
    place, here = name.replace("->", " to "), component(name)
    read = dict(zip(FEATURES, encoded.features[index].tolist(), strict=True))
    weighed: list[tuple[float, str]] = []
    if read["present"] and abs(read["worst"]) >= _SAYS_NOTHING:
        peers = int((encoded.template_of == template).sum())
        top = f", the largest of {peers}" if read["best"] and peers > 1 else ""
        weighed.append((abs(read["worst"]) + read["best"], f"{_reading(encoded, template, read['worst'])}{top}"))
    if read["mentioned"] > 0:
        weighed.append((1.5 * read["mentioned"], f"the report speaks of {place}"))
    elif read["name_similarity_rank"] >= 1.0:
        weighed.append((0.4, f"the report sounds most like {place}"))
    for family, words in _FAMILY_WORDS.items():
        value = read[family]
        if value >= _PRESENT:
            standing = read[f"{family}_rank"]
            first = ", more than anywhere else" if standing >= 1.0 else ""
            weighed.append((value * (0.5 + standing), words.format(place=here) + first))
    return tuple(text for _, text in sorted(weighed, key=lambda w: -w[0])[:3])


def _reading(encoded: EncodedIncident, template: int, squashed: float) -> str:
    """What a query of that template would show, in words; "" when that is nothing out of the ordinary."""
    if abs(squashed) < _SAYS_NOTHING:
        return ""
    if {r.source for r in encoded.templates[template].reads} == {"changes"}:
        return "it shows a change during the incident"
    distance = float(np.expm1(3.0 * abs(squashed)))
    times = f"{distance:.0f}" if distance < 100 else "over 100"
    return f"its figure is {times} times its usual variation away from normal"


def _seldom(rarity: float) -> str:
    """How few incidents with other causes show as much; "" when many do."""
    return f", as in one of {ONE_IN**rarity:.0f} incidents with other causes" if rarity >= _SELDOM else ""


def _ordinal(n: int) -> str:
    return {1: "the", 2: "second", 3: "third"}[n]
