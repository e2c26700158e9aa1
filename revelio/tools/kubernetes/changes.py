"""What changed about the workloads of a namespace in a window: in the words that changes of containers have everywhere."""

from __future__ import annotations

from collections.abc import Iterator

from revelio.tools.base import is_past
from revelio.tools.kubernetes.cluster import Cluster
from revelio.tools.kubernetes.state import RUNNING, Event, Part, Pod, Revision, latest, moment
from revelio.types import Entity, StateChange, Window

_LIMITS = ("CPU limit", "memory limit", "CPU request", "memory request")

FIELDS = {
    "Unhealthy": "health",
    "ProbeWarning": "health",
    "BackOff": "state",
    "CrashLoopBackOff": "state",
    "Killing": "state",
    "Evicted": "state",
    "Preempted": "state",
    "Failed": "state",
    "ErrImagePull": "state",
    "FailedMount": "state",
    "FailedAttachVolume": "state",
    "FailedScheduling": "state",
    "FailedCreate": "state",
    "ScalingReplicaSet": "replicas",
    "SuccessfulRescale": "replicas",
    "FailedGetResourceMetric": "replicas",
    "OOMKilling": "oom",
    "NodeNotReady": "node",
    "NodeHasDiskPressure": "node",
    "NodeHasMemoryPressure": "node",
    "SystemOOM": "node",
}
"""What the reason of an event says about a workload; others are events alone."""


def changes_in(window: Window, cluster: Cluster, workload: str | None = None) -> tuple[StateChange, ...]:
    """Changes in the order of time; of one workload, or of all. One entry for each workload and moment."""
    found = {
        change
        for change in _all(window, cluster)
        if window.start <= change.at <= window.end and workload in (None, change.entity.name)
    }
    return tuple(sorted(found, key=lambda c: (c.at, c.entity, c.field, c.after)))


def differences(before: Revision | None, after: Revision) -> tuple[tuple[str, str, str], ...]:
    """What one version of a workload has otherwise than the one before it: (setting, before, after)."""
    if before is None:
        return ()
    old, new = dict(before.settings), dict(after.settings)
    names = sorted(old.keys() | new.keys())
    return tuple((n, old.get(n, ""), new.get(n, "")) for n in names if old.get(n, "") != new.get(n, ""))


def is_limit(setting: str) -> bool:
    """Whether a setting is one of resources."""
    return setting.endswith(_LIMITS)


def _all(window: Window, cluster: Cluster) -> Iterator[StateChange]:
    for pod in cluster.pods:
        yield from _of_pod(pod, window)
    for workload, revisions in latest(cluster.revisions).items():
        yield from _of_revisions(Entity("container", workload), list(revisions))
    yield from _of_named(cluster)
    for event in cluster.events:
        yield from _of_event(event)
    yield from _of_nodes(cluster)
    yield from _of_workloads(cluster, window)


def _of_pod(pod: Pod, window: Window) -> Iterator[StateChange]:
    entity = Entity("container", pod.workload)
    for part in pod.parts:
        ended = f"exited with code {part.exit_code}" + (f" ({part.ended_as})" if part.ended_as not in ("", "Completed") else "")
        if part.finished and not (pod.kind == "Job" and part.exit_code == 0):
            yield StateChange(entity, part.finished, "state", RUNNING, ended)
            if part.ended_as == "OOMKilled":
                yield StateChange(entity, part.finished, "oom", RUNNING, "out of memory")
        if part.started and (part.restarts or pod.kind != "Job"):
            yield StateChange(entity, part.started, "started", "not running", RUNNING)
        if part.status == "waiting" and part.why not in ("", "ContainerCreating", "PodInitializing"):
            yield StateChange(entity, _since(pod, part, window), "state", RUNNING, f"waiting: {part.why}")
    if pod.phase == "Failed":
        yield StateChange(entity, pod.ready_since or pod.created, "state", RUNNING, f"failed{_because(pod)}")
    if pod.phase == "Pending" and not pod.node and not is_past(window):
        yield StateChange(entity, max(pod.created, window.start), "state", RUNNING, f"cannot be placed{_because(pod)}")
    if not pod.ready and pod.phase == "Running" and pod.ready_since and all(p.status == RUNNING for p in pod.parts):
        yield StateChange(entity, pod.ready_since, "health", "passing", "failing")


def _of_revisions(entity: Entity, revisions: list[Revision]) -> Iterator[StateChange]:
    for newer, older in zip(revisions, [*revisions[1:], None], strict=True):
        changed = differences(older, newer)
        limits = [d for d in changed if is_limit(d[0])]
        others = [d for d in changed if not is_limit(d[0])]
        for field, told in (("limits", limits), ("config", others)):
            if told:
                before = "; ".join(f"{name} {old or 'not set'}" for name, old, _ in told)
                after = "; ".join(f"{name} {new or 'not set'}" for name, _, new in told)
                yield StateChange(entity, newer.created, field, before[:300], after[:300])


def _of_named(cluster: Cluster) -> Iterator[StateChange]:
    """A config map or a secret that was written again is a change of each workload that reads it."""
    readers: dict[str, set[str]] = {}
    for pod in cluster.pods:
        for used in pod.uses:
            readers.setdefault(used, set()).add(pod.workload)
    for one in cluster.named:
        if one.changed > one.created:
            for workload in sorted(readers.get(f"{one.kind}/{one.name}", ())):
                said = f"{one.kind} {one.name} version {one.version}"
                yield StateChange(
                    Entity("container", workload), one.changed, "config", f"another version of {one.kind} {one.name}", said
                )


def _of_event(event: Event) -> Iterator[StateChange]:
    field = FIELDS.get(event.reason)
    if field is None or not event.workload:
        return
    kind = "node" if event.kind == "Node" else "container"
    yield StateChange(Entity(kind, event.workload), event.at, field, "", f"{event.reason}: {event.message}"[:300])


def _of_nodes(cluster: Cluster) -> Iterator[StateChange]:
    for node in cluster.nodes:
        name = str(node["metadata"]["name"])
        for one in (node.get("status") or {}).get("conditions") or ():
            bad = one.get("status") != "True" if one.get("type") == "Ready" else one.get("status") == "True"
            if bad:
                said = f"{one.get('type')} is {one.get('status')}: {one.get('message', '')}"[:300]
                yield StateChange(Entity("node", name), moment(one.get("lastTransitionTime")), "node", "well", said)


def _of_workloads(cluster: Cluster, window: Window) -> Iterator[StateChange]:
    """A workload without a single pod that serves, where its pods tell nothing."""
    if is_past(window):
        return
    told = {p.workload for p in cluster.pods}
    for one in cluster.workloads:
        if one.wanted and not one.available and one.name not in told:
            at = max(one.created, window.start)
            yield StateChange(Entity("container", one.name), at, "state", RUNNING, f"none of {one.wanted} pods is there")


def _since(pod: Pod, part: Part, window: Window) -> float:
    return part.finished or max(pod.created, window.start)


def _because(pod: Pod) -> str:
    return f": {pod.message}" if pod.message else ""
