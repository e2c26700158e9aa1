"""The verdict strip: the same sentence as everywhere, and a next step that is a look before it is a judgement."""

from __future__ import annotations

from dataclasses import replace

from revelio.presentation import cause
from revelio.types import Entity, Incident, RankedQuery, Recommendation, Result, Series
from tests.presentation.test_cause import EVIDENCE, figure, query, series
from webui.views.verdict import Verdict, verdict

HEAP = figure(series("heap_used", 1e6, 9e6, "B"))
CALM = Series(Entity("service", "quiet"), "cpu", "cores", (1.0,), (1.0,))


def answer(*results: Result | None, no_fault: float = 0.1) -> Recommendation:
    asked = [(query("Heap of ${service}"), 0.8), (query("Threads of ${service}", service="search"), 0.2)]
    ranked = tuple(RankedQuery(q, i, p, (), result=r) for i, ((q, p), r) in enumerate(zip(asked, results, strict=False), 1))
    return Recommendation(Incident("i", "shop", "slow", 1.0, replace(EVIDENCE, series=(CALM,))), ranked, no_fault, "m")


def shown(said: Recommendation, *, found: bool = False, resolved: bool = False) -> Verdict:
    return verdict(said, to_run=sum(q.result is None for q in said.queries), found=found, resolved=resolved)


def test_the_strip_says_what_is_said_everywhere() -> None:
    said = answer(HEAP, None)
    strip = shown(said)
    assert (strip.words, strip.advice) == (cause(said).words, cause(said).step)
    assert [(s.component, s.query_id) for s in strip.suspects] == [("billing", said.queries[0].query.id)]


def test_nothing_is_judged_before_it_is_looked_at() -> None:
    assert shown(answer(None, None)).step == "run"
    assert shown(answer(HEAP, None)).step == "look"
    assert shown(answer(HEAP, None), found=True).step == "resolve"
    assert shown(answer(HEAP, None), found=True, resolved=True).step == "none"
    assert shown(answer(Result("calm", 0.1, ""), Result("calm", 0.1, ""))).step == "none"


def test_a_calm_answer_suspects_nothing() -> None:
    strip = shown(answer(None, None, no_fault=0.97))
    assert (strip.kind, strip.suspects, strip.changed, strip.probability) == ("no_fault", (), (), 0.97)
