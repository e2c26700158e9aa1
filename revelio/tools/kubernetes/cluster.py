"""One look at a namespace: a fixed number of requests, of which those that an account may not make are left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import quote

from revelio.errors import SourceError
from revelio.support.telemetry import Workers
from revelio.tools.fetch import Fetcher, StatusError
from revelio.tools.kubernetes import state
from revelio.tools.kubernetes.state import Event, Named, Object, Pod, Revision, Workload
from revelio.types import Alias, Entity

T = TypeVar("T")

PAGE, MOST_PAGES = 250, 8
_AT_ONCE = 6
METADATA = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
"""The form in which config maps and secrets are asked for: without what they hold."""

_APPS, _CORE = "/apis/apps/v1", "/api/v1"
ALL_PODS = f"{_CORE}/pods"
_LISTS = {
    "pods": _CORE,
    "events": _CORE,
    "configmaps": _CORE,
    "secrets": _CORE,
    "resourcequotas": _CORE,
    "deployments": _APPS,
    "statefulsets": _APPS,
    "daemonsets": _APPS,
    "replicasets": _APPS,
    "controllerrevisions": _APPS,
    "horizontalpodautoscalers": "/apis/autoscaling/v2",
    "nodes": _CORE,
}
_NAMES_ONLY = ("configmaps", "secrets")


@dataclass(frozen=True, slots=True)
class Cluster:
    """What was seen of a namespace. ``refused`` are the lists that the account may not read."""

    namespace: str
    pods: tuple[Pod, ...] = ()
    workloads: tuple[Workload, ...] = ()
    revisions: tuple[Revision, ...] = ()
    events: tuple[Event, ...] = ()
    named: tuple[Named, ...] = ()
    nodes: tuple[Object, ...] = ()
    quotas: tuple[Object, ...] = ()
    autoscalers: tuple[Object, ...] = ()
    refused: tuple[str, ...] = field(default=())

    @property
    def names(self) -> tuple[str, ...]:
        """The workloads, those with pods alone included."""
        return tuple(sorted({w.name for w in self.workloads} | {p.workload for p in self.pods}))

    def pods_of(self, workload: str | None) -> tuple[Pod, ...]:
        """The pods of one workload, or of all."""
        return tuple(p for p in self.pods if workload in (None, p.workload))

    @property
    def aliases(self) -> tuple[Alias, ...]:
        """Other names of workloads: their containers', of those that one workload alone has."""
        found = {(part.name, pod.workload) for pod in self.pods for part in pod.parts}
        shared = Counter(name for name, _ in found)
        told = {Alias(Entity("container", own), name) for name, own in found if shared[name] == 1 and name not in ("", own)}
        return tuple(sorted(told))


def look(source: str, fetch: Fetcher, namespace: str) -> Cluster:
    """Ask for everything at once; ``SourceError`` when not even pods can be listed."""
    with Workers(max_workers=_AT_ONCE) as pool:
        found = dict(zip(_LISTS, pool.map(lambda name: _listed(source, fetch, name, namespace), _LISTS), strict=True))
    refused = tuple(name for name, items in found.items() if items is None)
    lists = {name: items or [] for name, items in found.items()}
    try:
        return _read(namespace, lists, refused)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise SourceError(source, f"answered in a form that is not Kubernetes': {type(error).__name__}: {error}") from error


def _listed(source: str, fetch: Fetcher, name: str, namespace: str) -> list[Object] | None:
    """The objects of one list; None where the account may not read it, or this version does not have it."""
    within = "" if name == "nodes" else f"/namespaces/{quote(namespace, safe='')}"
    path = f"{_LISTS[name]}{within}/{name}"
    accept = METADATA if name in _NAMES_ONLY else "application/json"
    items: list[Object] = []
    params = {"limit": str(PAGE)}
    for _ in range(MOST_PAGES):
        try:
            answer = fetch.get(path, params, accept)
        except StatusError as error:
            if error.status in (403, 404) and name != "pods":
                return None
            raise
        listed = answer.get("items") if isinstance(answer, dict) else None
        if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
            raise SourceError(source, f"{fetch.url} does not answer like Kubernetes; is its url right?")
        items += listed
        more = (answer.get("metadata") or {}).get("continue") if isinstance(answer, dict) else None
        if not more:
            break
        params = {"limit": str(PAGE), "continue": str(more)}
    return items


def _read(namespace: str, lists: Mapping[str, list[Object]], refused: tuple[str, ...]) -> Cluster:
    replica_sets = {str(r["metadata"]["name"]): state.owner(r, {})[1] for r in lists["replicasets"]}
    pods = tuple(state.pod(p, replica_sets) for p in lists["pods"])
    owned = {p.name: p.workload for p in pods}
    kinds = {"deployments": "Deployment", "statefulsets": "StatefulSet", "daemonsets": "DaemonSet"}
    workloads = tuple(state.workload(kind, w) for name, kind in kinds.items() for w in lists[name])
    revisions = _each((*lists["replicasets"], *lists["controllerrevisions"]), _revision)
    named = tuple(
        state.named(kind, one) for name, kind in (("configmaps", "ConfigMap"), ("secrets", "Secret")) for one in lists[name]
    )
    return Cluster(
        namespace=namespace,
        pods=pods,
        workloads=workloads,
        revisions=revisions,
        events=tuple(sorted(state.event(e, owned, replica_sets) for e in lists["events"])),
        named=named,
        nodes=tuple(lists["nodes"]),
        quotas=tuple(lists["resourcequotas"]),
        autoscalers=tuple(lists["horizontalpodautoscalers"]),
        refused=refused,
    )


def _revision(item: Any) -> Revision | None:
    kind, name = state.owner(item, {})
    if kind in ("Pod", "ReplicaSet"):  # nothing owns it
        return None
    return state.revision(item, _own_name(item, name), state.revision_number(item))


def _own_name(item: Any, name: str) -> str:
    owners = item["metadata"].get("ownerReferences") or ()
    return str(owners[0].get("name", name)) if owners else name


def _each(items: Iterable[Any], read: Callable[[Any], T | None]) -> tuple[T, ...]:
    return tuple(found for found in map(read, items) if found is not None)
