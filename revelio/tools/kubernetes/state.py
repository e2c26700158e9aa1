"""Workloads, pods, nodes and events as the API server describes them. Contents of config maps and secrets are never read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

Object = Mapping[str, Any]

RUNNING = "running"
_JOB_RUN = re.compile(r"-\d{8,10}$")
_HASH = re.compile(r"-[bcdf-hj-np-tv-xz2456789]{6,10}$")
_REVISION = "deployment.kubernetes.io/revision"
_SUFFIX = {"": 1.0, "n": 1e-9, "u": 1e-6, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
_SUFFIX |= {f"{letter}i": 1024.0**power for power, letter in enumerate("KMGTPE", 1)}
_QUANTITY = re.compile(r"([0-9.]+(?:[eE][-+]?\d+)?)([A-Za-z]*)")


@dataclass(frozen=True, slots=True)
class Part:
    """One container of a pod; times in Unix seconds, 0.0 for never. ``why`` is the reason of a container that waits or ended."""

    name: str
    status: str
    why: str
    ready: bool
    restarts: int
    started: float
    finished: float
    exit_code: int
    ended_as: str


@dataclass(frozen=True, slots=True)
class Pod:
    """One pod of a workload."""

    name: str
    workload: str
    kind: str
    phase: str
    node: str
    created: float
    ready: bool
    ready_since: float
    message: str
    parts: tuple[Part, ...]
    uses: frozenset[str]


@dataclass(frozen=True, slots=True)
class Revision:
    """One version of a workload's pods: what it runs, and within which limits. ``settings`` are as ``cart CPU limit``: text."""

    workload: str
    number: int
    created: float
    settings: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Workload:
    """Something that keeps pods: how many it should have, and how many serve."""

    kind: str
    name: str
    wanted: int
    available: int
    created: float


@dataclass(frozen=True, slots=True, order=True)
class Event:
    """Something that the cluster said of a workload, a node or the namespace."""

    at: float
    workload: str
    kind: str
    name: str
    reason: str
    message: str
    warning: bool
    count: int = 1


@dataclass(frozen=True, slots=True)
class Named:
    """A config map or a secret: its name and when it was last written, and nothing of what it holds."""

    kind: str
    name: str
    version: str
    changed: float
    created: float


def owner(item: Object, replica_sets: Mapping[str, str]) -> tuple[str, str]:
    """Kind and name of the workload that a pod or a replica set belongs to; its own where nothing owns it."""
    meta = item.get("metadata") or {}
    for one in meta.get("ownerReferences") or ():
        kind, name = str(one.get("kind", "")), str(one.get("name", ""))
        if kind == "ReplicaSet":
            return "Deployment", replica_sets.get(name) or _HASH.sub("", name)
        return kind, _JOB_RUN.sub("", name) if kind == "Job" else name
    return "Pod", str(meta.get("name", ""))


def pod(item: Object, replica_sets: Mapping[str, str]) -> Pod:
    """One pod. Raises ``KeyError``, ``TypeError``, ``ValueError`` or ``AttributeError`` when it is none."""
    meta, spec, status = item["metadata"], item.get("spec") or {}, item.get("status") or {}
    kind, workload = owner(item, replica_sets)
    ready: Object = next((c for c in status.get("conditions") or () if c.get("type") == "Ready"), {})
    placed: Object = next((c for c in status.get("conditions") or () if c.get("type") == "PodScheduled"), {})
    return Pod(
        name=str(meta["name"]),
        workload=workload,
        kind=kind,
        phase=str(status.get("phase", "Unknown")) if not meta.get("deletionTimestamp") else "Terminating",
        node=str(spec.get("nodeName", "")),
        created=moment(meta.get("creationTimestamp")),
        ready=ready.get("status") == "True",
        ready_since=moment(ready.get("lastTransitionTime")),
        message=str(status.get("message") or (placed.get("message") if placed.get("status") == "False" else "") or "")[:300],
        parts=tuple(_part(one) for one in status.get("containerStatuses") or ()),
        uses=frozenset(_uses(spec)),
    )


def revision(item: Object, workload: str, number: int) -> Revision:
    """A replica set, or a controller revision, as a version of its workload. Raises as ``pod`` does."""
    template = (item.get("spec") or item.get("data", {}).get("spec") or {}).get("template") or {}
    found = []
    for one in (template.get("spec") or {}).get("containers") or ():
        name, resources = str(one["name"]), one.get("resources") or {}
        found.append((f"{name} image", str(one.get("image", ""))))
        if one.get("command") or one.get("args"):
            found.append((f"{name} command", " ".join(map(str, [*(one.get("command") or ()), *(one.get("args") or ())]))[:300]))
        for key, title in (("cpu", "CPU"), ("memory", "memory")):
            for bound in ("limits", "requests"):
                if (resources.get(bound) or {}).get(key) is not None:
                    found.append((f"{name} {title} {bound[:-1]}", str(resources[bound][key])))
        # Values may be secrets: only which variables there are, and those that hold a plain number or word, are told.
        found += [(f"{name} ${e['name']}", _told(e)) for e in one.get("env") or ()]
    return Revision(workload, number, moment(item["metadata"].get("creationTimestamp")), tuple(sorted(found)))


def revision_number(item: Object) -> int:
    """The number of a replica set or of a controller revision."""
    told = (item["metadata"].get("annotations") or {}).get(_REVISION, item.get("revision", 0))
    return int(told or 0)


def workload(kind: str, item: Object) -> Workload:
    """A deployment, a stateful set or a daemon set. Raises as ``pod`` does."""
    spec, status = item.get("spec") or {}, item.get("status") or {}
    wanted = status.get("desiredNumberScheduled", 0) if kind == "DaemonSet" else spec.get("replicas", 1)
    available = status.get("numberAvailable", 0) if kind == "DaemonSet" else status.get("availableReplicas", 0)
    meta = item["metadata"]
    return Workload(kind, str(meta["name"]), int(wanted or 0), int(available or 0), moment(meta.get("creationTimestamp")))


def event(item: Object, pods: Mapping[str, str], replica_sets: Mapping[str, str]) -> Event:
    """An event of the core or of the events API. Raises as ``pod`` does."""
    about = item.get("involvedObject") or item.get("regarding") or {}
    kind, name = str(about.get("kind", "")), str(about.get("name", ""))
    series = item.get("series") or {}
    times = (item.get("lastTimestamp"), series.get("lastObservedTime"), item.get("eventTime"), item.get("firstTimestamp"))
    at = next((moment(t) for t in times if t), moment(item["metadata"].get("creationTimestamp")))
    if kind == "Pod":
        of = pods.get(name) or _HASH.sub("", re.sub(r"-[a-z0-9]{5}$|-\d+$", "", name))
    elif kind == "ReplicaSet":
        of = replica_sets.get(name) or _HASH.sub("", name)
    else:
        of = _JOB_RUN.sub("", name) if kind == "Job" else name
    message = str(item.get("message") or item.get("note") or "")[:400]
    count = int(item.get("count") or series.get("count") or 1)
    return Event(at, of, kind, name, str(item.get("reason", "")), message, item.get("type") != "Normal", count)


def named(kind: str, item: Object) -> Named:
    """A config map or a secret by its metadata. Raises as ``pod`` does."""
    meta = item["metadata"]
    written = [moment(field.get("time")) for field in meta.get("managedFields") or ()]
    created = moment(meta.get("creationTimestamp"))
    return Named(kind, str(meta["name"]), str(meta.get("resourceVersion", "")), max([created, *written]), created)


def quantity(text: object) -> float | None:
    """A quantity such as ``250m`` or ``512Mi`` in cores, bytes or pieces; None where it is none."""
    found = _QUANTITY.fullmatch(str(text))
    return float(found[1]) * _SUFFIX[found[2]] if found and found[2] in _SUFFIX else None


def moment(text: object) -> float:
    """An RFC 3339 time in Unix seconds; 0.0 for none."""
    if not text:
        return 0.0
    return datetime.fromisoformat(str(text)).timestamp()


def latest(revisions: Iterable[Revision]) -> dict[str, Sequence[Revision]]:
    """The revisions of each workload, the newest first."""
    found: dict[str, list[Revision]] = {}
    for one in sorted(revisions, key=lambda r: (-r.number, -r.created)):
        found.setdefault(one.workload, []).append(one)
    return dict(found)


def _part(status: Object) -> Part:
    state, last = status.get("state") or {}, status.get("lastState") or {}
    running, waiting, ended = (state.get(name) or {} for name in ("running", "waiting", "terminated"))
    gone = ended or last.get("terminated") or {}
    told = RUNNING if "running" in state else "waiting" if "waiting" in state else "exited" if ended else "unknown"
    return Part(
        name=str(status["name"]),
        status=told,
        why=str(waiting.get("reason") or ended.get("reason") or ""),
        ready=bool(status.get("ready")),
        restarts=int(status.get("restartCount", 0)),
        started=moment(running.get("startedAt")),
        finished=moment(gone.get("finishedAt")),
        exit_code=int(gone.get("exitCode", 0)),
        ended_as=str(gone.get("reason", "")),
    )


def _uses(spec: Object) -> Iterable[str]:
    """The config maps and secrets that a pod reads, as ``ConfigMap/name``."""
    for volume in spec.get("volumes") or ():
        if volume.get("configMap"):
            yield f"ConfigMap/{volume['configMap'].get('name')}"
        if volume.get("secret"):
            yield f"Secret/{volume['secret'].get('secretName')}"
    for one in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        sources = [*(one.get("envFrom") or ()), *((e.get("valueFrom") or {}) for e in one.get("env") or ())]
        for source in sources:
            for key, kind in (("configMapRef", "ConfigMap"), ("configMapKeyRef", "ConfigMap"), ("secretRef", "Secret")):
                if source.get(key):
                    yield f"{kind}/{source[key].get('name')}"
            if source.get("secretKeyRef"):
                yield f"Secret/{source['secretKeyRef'].get('name')}"


def _told(variable: Object) -> str:
    """The value of an environment variable as far as it may be shown."""
    if variable.get("valueFrom"):
        return "from " + ", ".join(sorted(variable["valueFrom"]))
    value = str(variable.get("value", ""))
    secret = re.search(r"pass|secret|token|key|credential|auth", str(variable["name"]), re.IGNORECASE)
    return "***" if secret else re.sub(r"(://[^:/@\s]*):[^@/\s]*@", r"\1:***@", value)[:200]
