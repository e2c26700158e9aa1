"""The cause in one sentence, from results and the snapshot: the same on the page, in the terminal, in messages and in the API."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, tzinfo
from typing import Literal

from revelio.presentation.facts import Fact, Words, component_of, fact_of, felt, lowered, new_error, quoted, sentence, written
from revelio.support.numbers import format_duration
from revelio.types import RankedQuery, Recommendation

CauseKind = Literal["fault", "two_faults", "untested", "no_fault", "no_evidence"]

RIVAL = 0.5
"""A second query is told of from this share of the first one's probability on."""


@dataclass(frozen=True, slots=True)
class Cause:
    """What an answer says in a sentence, and the one next step. ``facts`` are what it rests on, none where nothing shows a cause.

    ``kind`` is ``untested`` where the most probable query has no result yet and the snapshot does not show it either.
    ``queries`` are those that it speaks of: one for each fact, or the one to run first.
    """

    kind: CauseKind
    words: Words
    step: str
    facts: tuple[Fact, ...] = ()
    queries: tuple[RankedQuery, ...] = ()

    @property
    def components(self) -> tuple[str, ...]:
        """What looks wrong, or where to look first."""
        return tuple(f.component for f in self.facts) or tuple(component_of(q.query) for q in self.queries)

    @property
    def since(self) -> float | None:
        """When what it names began, in Unix seconds; None where that is not known."""
        return next((f.since for f in self.facts if f.since is not None), None)

    def text(self, zone: tzinfo | None = UTC) -> str:
        """The sentence and the next step, with times in ``zone``, that of this machine when None."""
        return f"{written(self.words, zone)} Next: {self.step}."


def cause_sentence(answer: Recommendation, zone: tzinfo | None = UTC) -> str:
    """What an answer says, in one sentence and a next step."""
    return cause(answer).text(zone)


def cause(answer: Recommendation) -> Cause:
    """What the first query says that was not run in vain. It names no cause where nothing points at a fault.

    Whether queries are in their original order or re-ranked, the same one comes first: normal results are passed over.
    """
    said = {"fault": _fault, "no_fault": _no_fault, "no_evidence": _no_evidence}[answer.outcome](answer)
    return replace(said, words=sentence(said.words, frozenset(f.component for f in said.facts)))


def _fault(answer: Recommendation) -> Cause:
    lead = next((q for q in answer.queries if q.anomalous or not q.answered), None)
    fact = fact_of(lead, answer.incident.evidence) if lead else None
    if lead is None or fact is None:
        return _untested(answer, lead)
    rival = _rival(answer, lead, fact)
    if rival is not None and rival[1].component != fact.component:
        query, other = rival
        return Cause("two_faults", (*fact.words, "; also, ", *other.words), fact.step, (fact, other), (lead, query))
    more = rival[1].words if rival else _consequence(answer, fact)
    return Cause("fault", (*fact.words, "; ", *more) if more else fact.words, fact.step, (fact,), (lead,))


def _rival(answer: Recommendation, lead: RankedQuery, fact: Fact) -> tuple[RankedQuery, Fact] | None:
    """What another query shows that is nearly as probable."""
    for ranked in answer.queries:
        if ranked is not lead and ranked.answered and ranked.probability >= RIVAL * lead.probability:
            other = fact_of(ranked, answer.incident.evidence)
            if other is not None and other.words != fact.words:
                return ranked, other
    return None


def _consequence(answer: Recommendation, fact: Fact) -> Words:
    """What followed: the error that the component logs since then, else what users feel, else what else is wrong with it."""
    evidence = answer.incident.evidence
    error = new_error(fact.component, evidence) if fact.kind != "log" and fact.since is not None else None
    if error is not None and fact.since is not None and error[1] >= fact.since:
        later = round(error[1] - fact.since)
        return (f"{error[0]}, the first {f'{format_duration(later * 1000.0)} later' if later else 'at once'}",)
    users = felt(evidence, answer.incident.report)
    if users is not None:
        return users.words if users.words != fact.words else ()
    others = (fact_of(q, evidence) for q in answer.queries if q.answered and fact.component in _targets(q))
    first, *rest = next((f.words for f in others if f and _follows(f, fact)), ("",))
    return (lowered(str(first)), *rest) if first else ()


def _follows(one: Fact, fact: Fact) -> bool:
    known = one.since is not None and fact.since is not None and one.since >= fact.since
    return known and one.kind == "figure" and one.words != fact.words


def _targets(ranked: RankedQuery) -> tuple[str, ...]:
    return tuple(e.name.partition(": ")[0] for e in ranked.query.entities)


def _untested(answer: Recommendation, lead: RankedQuery | None) -> Cause:
    """Nothing that was seen shows a cause: say where to look, and no more."""
    if lead is None:
        return Cause("untested", ("no result so far shows the cause",), "run the next queries")
    where = component_of(lead.query, answer.incident.system)
    ran = "no result so far shows the cause" if any(q.answered for q in answer.queries) else "nothing was run yet"
    words = f"{ran}; the most likely place is {where} ({lead.probability:.0%})"
    return Cause("untested", (words,), f"run {quoted(lead.query.title)}", queries=(lead,))


def _no_fault(answer: Recommendation) -> Cause:
    ran = [q for q in answer.queries if q.answered]
    facts = [fact for q in ran if (fact := fact_of(q, answer.incident.evidence))]
    said = f"nothing points at a fault ({answer.no_fault_probability:.0%})"
    words: Words = (said,)
    if facts:
        first, *rest = facts[0].words
        words = (f"{said}; the largest deviation is {lowered(str(first))}", *rest)
    elif ran:
        words = (f"{said}; {'the one result is' if len(ran) == 1 else f'all {len(ran)} results are'} normal",)
    return Cause("no_fault", words, "if it goes on, ask again with the time at which it was seen")


def _no_evidence(answer: Recommendation) -> Cause:
    silent = ", ".join(answer.degraded)
    evidence = answer.incident.evidence
    felt = "nothing that users feel was seen: no request, call, trace or log line"
    why = "no data source reports anything of this system" if not evidence.shows else felt
    why = f"{silent} did not answer" if silent else why
    return Cause("no_evidence", (f"too little data to tell: {why}",), f"check the data sources of {answer.incident.system}")
