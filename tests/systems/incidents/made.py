"""A small record with one of everything, made by hand."""

from __future__ import annotations

from revelio.systems.incidents.exchange import FaultRecord, Label, Note, Record, Report
from revelio.types import (
    Entity,
    Evidence,
    Feature,
    LogPattern,
    RecordedResult,
    Result,
    Series,
    SpanFigures,
    SpanStat,
    StateChange,
    Window,
)

CART = Entity("service", "cart")


def record(name: str = "a1", split: str = "train") -> Record:
    """A paused cart, seen by every kind of source."""
    window, baseline = Window(1_700_000_020.0, 1_700_000_040.0), Window(1_700_000_000.0, 1_700_000_020.0)
    evidence = Evidence(
        window,
        baseline,
        entities=(CART, Entity("container", "cart")),
        series=(Series(CART, "rate", "1/s", (1_700_000_001.123456, 1_700_000_030.0), (0.123456789, 2.0)),),
        logs=(LogPattern(CART, "ERROR", "no key <n>", 3, 0, 1_700_000_021.0, "no key 7"),),
        spans=(SpanStat(Entity("operation", "cart: GET /cart"), "cart", SpanFigures(3, 1, 2.0, 3.0, 1.0), SpanFigures()),),
        changes=(StateChange(Entity("container", "cart"), 1_700_000_021.0, "status", "running", "paused"),),
        features=(Feature(CART, "score", 0.5),),
        missing=("jaeger",),
    )
    return Record(
        id=name,
        system="shop",
        opened_at=1_700_000_040.0,
        evidence=evidence,
        reports=(Report("my basket hangs", "w1", "shop/cart_view/timeout"),),
        results=(
            RecordedResult(
                "states.now",
                (("container", "cart"),),
                Result("paused", 1.0, "not running", ("state",), (("paused",),), kind="table", roles=("",)),
            ),
        ),
        notes=(Note(1_700_000_022.0, "cart_view", "timeout", 10.0, None),),
        labels=(Label("states.now", (("container", "cart"),), 3, 1.0, 0.0),),
        fault=FaultRecord("container_pause", "component", "cart", "whole"),
        split=split,
    )
