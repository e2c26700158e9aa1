"""Results about what lies around workloads: versions of settings, nodes, quotas, autoscalers."""

from __future__ import annotations

from collections.abc import Callable

from revelio.support.numbers import format_count
from revelio.tools.kubernetes.seen import NamespaceState
from revelio.tools.kubernetes.state import moment, quantity
from revelio.types import NO_ROLE, Result

MAX_ROWS = 100
FULL = 0.95
"""The part of a quota from which on it counts as used up."""


def versions(seen: NamespaceState) -> Result:
    """When the config maps and secrets of a workload were last written; never what they hold."""
    used = {name for pod in seen.cluster.pods_of(seen.workload) for name in pod.uses}
    held = [n for n in seen.cluster.named if seen.workload is None or f"{n.kind}/{n.name}" in used]
    window = seen.scope.window
    since = min(seen.scope.baseline.end, window.start)
    fresh = [n for n in held if since <= n.changed <= window.end]
    rows = tuple((n.kind, n.name, n.version, n.changed or None) for n in sorted(held, key=lambda n: -n.changed))
    return Result(
        summary=f"{format_count(len(fresh), 'version')} written in the window"
        + (f": {', '.join(n.name for n in fresh)}" if fresh else ""),
        signal=1.0 if fresh else 0.0,
        reason=f"{fresh[0].kind} {fresh[0].name} was written" if fresh else "nothing was written",
        columns=("kind", "name", "version", "last written"),
        rows=rows[:MAX_ROWS],
        truncated=len(rows) > MAX_ROWS,
        kind="table",
        roles=(NO_ROLE,) * 4,
    )


def nodes(seen: NamespaceState) -> Result:
    """Conditions of nodes; one that is not well has signal 1."""
    rows = tuple(
        (
            str(n["metadata"]["name"]),
            str(c.get("type")),
            str(c.get("status")),
            moment(c.get("lastTransitionTime")) or None,
            str(c.get("message", "")),
        )
        for n in seen.cluster.nodes
        for c in (n.get("status") or {}).get("conditions") or ()
    )
    bad = [r for r in rows if (r[2] != "True" if r[1] == "Ready" else r[2] == "True")]
    return Result(
        summary="; ".join(f"{r[0]}: {r[1]} is {r[2]}" for r in bad[:5])
        if bad
        else f"{format_count(len(seen.cluster.nodes), 'node')}, all well",
        signal=1.0 if bad else 0.0,
        reason=f"{bad[0][0]}: {bad[0][1]} is {bad[0][2]}" if bad else "no node complains",
        columns=("node", "condition", "status", "since", "message"),
        rows=rows[:MAX_ROWS],
        truncated=len(rows) > MAX_ROWS,
        kind="table",
        roles=(NO_ROLE,) * 5,
    )


def quotas(seen: NamespaceState) -> Result:
    """Quotas of the namespace, and how much of each is used."""
    rows = []
    for quota in seen.cluster.quotas:
        status = quota.get("status") or {}
        for name, bound in (status.get("hard") or {}).items():
            used = (status.get("used") or {}).get(name, "0")
            most, now = quantity(bound), quantity(used)
            share = now / most if most and now is not None else 1.0 if now else 0.0
            rows.append((str(quota["metadata"]["name"]), str(name), str(used), str(bound), round(share, 3)))
    rows.sort(key=lambda r: -float(r[4]))
    worst = rows[0] if rows else None
    full = worst is not None and float(worst[4]) >= FULL
    return Result(
        summary=f"{worst[1]}: {worst[2]} of {worst[3]} used" if worst else "the namespace has no quota",
        signal=1.0 if full else 0.0,
        reason=f"{worst[1]} is used up" if full and worst else "no quota is used up",
        columns=("quota", "resource", "used", "limit", "share"),
        rows=tuple(rows[:MAX_ROWS]),
        truncated=len(rows) > MAX_ROWS,
        kind="table",
        roles=(NO_ROLE,) * 5,
    )


def scaling(seen: NamespaceState) -> Result:
    """Autoscalers, and the number of pods that each wants, has and may have."""
    rows = []
    for one in seen.cluster.autoscalers:
        spec, status = one.get("spec") or {}, one.get("status") or {}
        target = str((spec.get("scaleTargetRef") or {}).get("name", ""))
        if seen.workload in (None, target):
            limit = [c for c in status.get("conditions") or () if c.get("type") == "ScalingLimited" and c.get("status") == "True"]
            rows.append(
                (
                    target,
                    spec.get("minReplicas"),
                    spec.get("maxReplicas"),
                    status.get("currentReplicas"),
                    status.get("desiredReplicas"),
                    str(limit[0].get("message", "")) if limit else None,
                )
            )
    stuck = [r for r in rows if r[5] and r[4] == r[2]]
    moved = seen.of("replicas")
    words = [f"{r[0]} is at its limit of {r[2]} pods" for r in stuck] + [f"{c.entity.name}: {c.after}" for c in moved]
    return Result(
        summary="; ".join(words[:3])
        or ("nothing was scaled" if rows else "nothing is scaled automatically, and nothing was by hand"),
        signal=1.0 if words else 0.0,
        reason=words[0] if words else "nothing was scaled",
        columns=("container", "least", "most", "pods", "wanted", "limited"),
        rows=tuple(rows[:MAX_ROWS]),
        truncated=len(rows) > MAX_ROWS,
        kind="containers",
        roles=("container", *(NO_ROLE,) * 5),
    )


NAMESPACE_VIEWS: dict[str, Callable[[NamespaceState], Result]] = {
    "versions": versions,
    "nodes": nodes,
    "quotas": quotas,
    "scaling": scaling,
}
