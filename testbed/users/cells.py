"""Notes to the corpus's cells: which complaint does what users saw in a window call for?"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from testbed.users.corpus import symptoms
from testbed.users.notes import Visit

_SITE_SHARE = 0.7
"""Share of the features that must suffer alike before people speak of the whole site."""
_OFTEN = 0.6
"""From this share of visits on a symptom is there 'every time'; below, now and then."""
_FORGIVING = {"slow": 4}
"""One bad visit among so many (8 by default) is not worth a complaint."""
_BUSY = 1.4
"""Slower than before by this factor, yet never slow: a busy evening."""


def cells(app: str, window: Sequence[Visit], baseline: Sequence[Visit] = ()) -> tuple[str, ...]:
    """Cells that fit, the worst first; site-wide ones before single features where most features suffer alike.

    When no user suffered: ``busy_spike`` where the pages took clearly longer than in the baseline, else ``unrelated``.
    Cells with variants (``#1`` ...) are given without the variant: ``shop/_site/site_slow``. A symptom without a text for its
    feature becomes ``error``.
    """
    by_feature: dict[str, list[Visit]] = defaultdict(list)
    for visit in window:
        by_feature[visit.feature].append(visit)
    suffered = {f: _told(app, f, s) for f, visits in by_feature.items() if (s := symptom(visits))}
    if not suffered:
        return (f"{app}/_site/{'busy_spike' if _slower(window, baseline) else 'unrelated'}",)
    found = [f"{app}/_site/{s}" for s in _site_wide(suffered, len(by_feature))]
    worst_first = sorted(suffered, key=lambda f: (-_badness(by_feature[f]), f))
    return (*found, *(f"{app}/{f}/{suffered[f]}" for f in worst_first))


def _told(app: str, feature: str, symptom: str) -> str:
    return symptom if symptom in symptoms(app)[feature] else "error"


def symptom(visits: Sequence[Visit]) -> str:
    """The one symptom that fits a feature's visits; "" when a user would not complain."""
    ordered = sorted(visits, key=lambda v: v.at)
    bad = [v for v in ordered if v.outcome != "ok"]
    if not bad or (len(bad) == 1 and len(ordered) >= _FORGIVING.get(bad[0].outcome, 8)):
        return ""
    if _degrading(ordered):
        return "degrading"
    kinds = Counter(v.outcome for v in bad)
    kind = kinds.most_common(1)[0][0]
    failing = len(bad) / len(ordered)
    after_the_first = ordered[ordered.index(bad[0]) :]
    share_since = sum(v.outcome != "ok" for v in after_the_first) / len(after_the_first)
    if kind in ("error", "timeout") and min(failing, 1.0) < _OFTEN and share_since < _OFTEN:
        return "flaky"
    return kind


def _degrading(ordered: Sequence[Visit]) -> bool:
    """Each third slower than the one before, the last slow: seen by its user as getting worse and worse."""
    if len(ordered) < 6:
        return False
    third = len(ordered) // 3
    means = [sum(v.seconds for v in part) / len(part) for part in (ordered[:third], ordered[third:-third], ordered[-third:])]
    return means[0] * 2 < means[1] and means[1] * 1.7 < means[2] and ordered[-1].outcome in ("slow", "timeout")


def _site_wide(symptoms: dict[str, str], features: int) -> list[str]:
    if features < 4 or len(symptoms) < _SITE_SHARE * features:
        return []
    kinds = Counter(symptoms.values())
    slow = kinds["slow"] + kinds["degrading"]
    down = kinds["error"] + kinds["timeout"]
    if down >= _SITE_SHARE * features:
        return ["site_down"]
    if slow >= _SITE_SHARE * features:
        return ["site_slow"]
    return ["site_flaky"] if kinds["flaky"] + down >= _SITE_SHARE * features else []


def _badness(visits: Sequence[Visit]) -> float:
    weight = {"ok": 0.0, "slow": 0.6}
    return sum(weight.get(v.outcome, 1.0) for v in visits) / len(visits)


def _slower(window: Sequence[Visit], baseline: Sequence[Visit]) -> bool:
    if not window or not baseline:
        return False
    now, before = (sum(v.seconds for v in part) / len(part) for part in (window, baseline))
    return now > _BUSY * before
