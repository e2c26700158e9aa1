"""What users of a simulated system write: texts about other systems with this one's features put in, or plain frames."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeVar

from revelio.systems.incidents.exchange import Report
from revelio.training.simulation.vocabulary import trades, wording

K = TypeVar("K")
WHOLE_SITE = "_site"
_MOST_WORDS = 40
"""Longer texts tell too much of their own system to be about another."""
_USELESS, _UNTOUCHED, _CUT, _TYPO, _TIMED = 0.05, 0.5, 0.08, 0.25, 0.2
_MOST_SHARED_WORDS = re.compile(
    r"\b(shop|cart|basket|parcels?|orders?|ordered|ordering|deliver\w*|postage|cards?|prices?|products?|items?|articles?|bought|buy"
    r"|buying|sell|shirts?|socks?|lamps?|kettles?|mugs?|towels?|sizes?|forum|threads?|posts?|posted|posting|comment\w*|reply|replies"
    r"|votes?|voted|karma|communit\w+|members?|mods?|moderators?|inbox|messages?|search\w*|passwords?|log(ged|ging)? ?in"
    r"|sign(ed|ing)? ?(in|up)|accounts?|checkout|suggest\w*|register\w*|profiles?|pay\w*|paid|euros?|eur|money|pounds?|sale"
    r"|categor\w+|charged|wearing|results?|names?)\b",
    re.I,
)
"""A text with one of these is about one kind of system, whatever feature is put into it."""


_TWO_ARTICLES = re.compile(r"\b(the|a|an|my|your|past|every|any|each) (the|a|an|my) ", re.I)


@dataclass(frozen=True, slots=True)
class Corpus:
    """Texts by symptom with ``{F}`` for the feature, those that are as they were by (feature, symptom), and those about all."""

    moved: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    native: Mapping[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    whole: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def corpus(reports: Iterable[Report]) -> Corpus:
    """Read reports whose ``cell`` is ``system/feature/symptom``; others are left out."""
    moved: dict[str, dict[str, None]] = {}
    native: dict[tuple[str, str], dict[str, None]] = {}
    whole: dict[str, dict[str, None]] = {}
    for report in reports:
        parts = report.cell.split("#")[0].split("/")
        if len(parts) != 3:
            continue
        _, feature, symptom = parts
        if feature == WHOLE_SITE:
            whole.setdefault(symptom.removeprefix("site_"), {})[report.text] = None
            continue
        native.setdefault((feature, symptom), {})[report.text] = None
        said = _moved(report.text, feature)
        if said:
            moved.setdefault(symptom, {})[said] = None
    return Corpus(_tuples(moved), _tuples(native), _tuples(whole))


def _tuples(found: Mapping[K, Iterable[str]]) -> dict[K, tuple[str, ...]]:
    return {key: tuple(some) for key, some in found.items()}


@lru_cache(maxsize=64)
def _mention(feature: str) -> re.Pattern[str] | None:
    found = [w.mention for some in trades().values() for w in some if feature in w.corpus and w.mention]
    return re.compile(rf"(?<![\w-])({found[0]})(?![\w-])", re.I) if found else None


def _moved(text: str, feature: str) -> str:
    """The text with ``{F}`` where it names its feature; "" where it does not, or says more of its system."""
    pattern = _mention(feature)
    if pattern is None or "{" in text or len(text.split()) > _MOST_WORDS or not pattern.search(text):
        return ""
    said = pattern.sub("{F}", text)
    return "" if _MOST_SHARED_WORDS.search(said) or said.count("{F}") > 2 else said


def complaint(rng: random.Random, said: str, features: Sequence[str], symptom: str, texts: Corpus, *, whole: bool = False) -> str:
    """A report about a feature that users call ``said`` and a corpus ``features``; ``whole`` is about the whole system."""
    words = wording()
    if rng.random() < _USELESS:
        return str(rng.choice(words["useless"]))
    if whole:
        kind = {"timeout": "slow", "degrading": "slow", "error": "error", "flaky": "flaky"}.get(symptom, symptom)
        told = {"error": "down"}.get(kind, kind)
        pool = [*words["whole"].get(kind, words["whole"]["error"]), *texts.whole.get(told, ())]
        return _worn(rng, _timed(rng, _figures(rng, rng.choice(pool))))
    native = [t for f in features for t in texts.native.get((f, symptom), ())]
    moved, frames = texts.moved.get(symptom, ()), words["frames"][symptom]
    lot = rng.random()
    if native and lot < 0.6:
        return _worn(rng, rng.choice(native))
    text = rng.choice(moved) if moved and lot < 0.75 else rng.choice(frames)
    plain = _TWO_ARTICLES.sub(r"\2 ", text.replace("{F}", said))
    return _worn(rng, _timed(rng, _figures(rng, rng.choice(words["apart"]) + plain)))


def unrelated(rng: random.Random, texts: Corpus) -> str:
    """A report about no fault."""
    pool = [*wording()["unrelated"], *texts.whole.get("unrelated", ()), *texts.whole.get("busy_spike", ())]
    return _worn(rng, rng.choice(pool))


def _figures(rng: random.Random, text: str) -> str:
    at = f"{rng.randint(0, 23)}:{rng.randint(0, 59):02}"
    return (
        text.replace("{n}", str(rng.randint(4, 40))).replace("{s}", rng.choice(("500", "502", "503", "504"))).replace("{t}", at)
    )


def _timed(rng: random.Random, text: str) -> str:
    if rng.random() >= _TIMED or "since" in text or ":" in text:
        return text
    return _figures(rng, text.rstrip(".!? ") + str(rng.choice(wording()["times"])))


def _worn(rng: random.Random, text: str) -> str:
    """As people type: cut short, without capitals, with letters missing or swapped."""
    if rng.random() < _UNTOUCHED:
        return text
    if rng.random() < _CUT and len(text) > 60:
        text = text[: rng.randint(30, len(text) - 10)]
    if rng.random() < 0.3:
        text = text.lower().replace("'", "")
    if rng.random() < 0.15:
        text = text[:1].upper() + text[1:] + rng.choice(("!!", "?", " :(", " ...", ""))
    letters = list(text)
    for place in range(1, len(letters) - 1):
        if letters[place].isalpha() and letters[place - 1].isalpha() and rng.random() < _TYPO * 0.06:
            letters[place], letters[place + 1] = letters[place + 1], letters[place]
    return "".join(letters)
