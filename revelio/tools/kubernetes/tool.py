"""Kubernetes: workloads, pods, nodes and events of one namespace, through the API server; only lists are asked for."""

from __future__ import annotations

import shlex
import tempfile
import threading
from collections import Counter
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from urllib.parse import quote

from revelio.catalog import ToolSpec
from revelio.errors import SourceError
from revelio.settings import Backend
from revelio.tools.base import Limits, Scope, is_past
from revelio.tools.fetch import Fetcher, StatusError
from revelio.tools.kubernetes.changes import changes_in
from revelio.tools.kubernetes.cluster import ALL_PODS, METADATA, Cluster, look
from revelio.tools.kubernetes.kubeconfig import own_namespace, resolved
from revelio.tools.kubernetes.seen import NamespaceState
from revelio.tools.kubernetes.views import VIEWS
from revelio.tools.links import encodable
from revelio.tools.placeholders import tree
from revelio.tools.single_flight_cache import SingleFlightCache
from revelio.types import Entity, Evidence, Query, Result, Window

FRESH_S = 3.0
"""How long one look at a namespace serves the queries that are run together, in seconds."""

_COMMANDS = {
    "state": "kubectl get pods -o wide",
    "restarts": "kubectl get pods -o custom-columns=POD:.metadata.name,RESTARTS:.status.containerStatuses[*].restartCount",
    "limits": "kubectl get pods -o custom-columns=POD:.metadata.name,RESOURCES:.spec.containers[*].resources",
    "oom": "kubectl get pods -o custom-columns=POD:.metadata.name,LAST:.status.containerStatuses[*].lastState.terminated.reason",
    "config": "kubectl get replicasets -o wide --sort-by=.metadata.creationTimestamp",
    "health": "kubectl get events --field-selector reason=Unhealthy --sort-by=.lastTimestamp",
    "events": "kubectl get events --sort-by=.lastTimestamp",
    "versions": "kubectl get configmaps,secrets -o custom-columns=NAME:.metadata.name,VERSION:.metadata.resourceVersion",
    "nodes": "kubectl describe nodes",
    "quotas": "kubectl describe resourcequotas",
    "scaling": "kubectl get horizontalpodautoscalers",
}
_PAGES = {"nodes": "node", "quotas": "overview", "versions": "configmap", "events": "event"}


class Kubernetes:
    """The ``kubernetes`` product: the workloads of the namespace that the system's project names."""

    def __init__(self, spec: ToolSpec, backend: Backend, limits: Limits) -> None:
        """Connects to nothing, and reads nothing, yet."""
        self.name = spec.name
        self.retrospective = False
        self.backend = backend
        self.limits = limits
        self._seen: SingleFlightCache[Cluster] = SingleFlightCache(16, FRESH_S)
        self._lock = threading.Lock()

    @cached_property
    def _fetch(self) -> Fetcher:
        with tempfile.TemporaryDirectory(prefix="revelio-") as folder:
            fetch = Fetcher(self.name, resolved(self.name, self.backend, Path(folder)), self.limits)
            fetch.prepare()  # certificates are read while their files are there
        return fetch

    def ping(self) -> str:
        """The server's version."""
        answer = self._client().get("/version", {})
        version = answer.get("gitVersion") if isinstance(answer, dict) else None
        if not isinstance(version, str):
            raise SourceError(self.name, f"{self._client().url} does not answer like Kubernetes; is its url right?")
        return f"Kubernetes {version}"

    def namespaces(self) -> Counter[str]:
        """How many pods each namespace has; that of its own account alone where it may not list them all."""
        try:
            answer = self._client().get(ALL_PODS, {"limit": "500"}, METADATA)
        except StatusError:
            return Counter(own_namespace())
        items = answer.get("items") if isinstance(answer, dict) else None
        return Counter(str(item["metadata"]["namespace"]) for item in items or ())

    def snapshot(self, scope: Scope) -> Evidence:
        """Every workload of the namespace, and its changes since the baseline: one request a list."""
        cluster = self._look(scope)
        if not cluster.names:
            raise SourceError(self.name, f"sees no workload in the namespace {scope.project!r}; is the system's project right?")
        return Evidence(
            window=scope.window,
            baseline=scope.baseline,
            entities=tuple(Entity("container", name) for name in cluster.names),
            changes=changes_in(_since_healthy(scope), cluster),
            aliases=cluster.aliases,
        )

    def render(self, query: Query, scope: Scope) -> str:
        """The same question as a ``kubectl`` command."""
        view, workload = self._question(query, scope)
        within = "" if view == "nodes" else f" --namespace {_shell(scope.project)}"
        named = "" if workload is None or view == "quotas" else f" | grep -F -- {_shell(workload)}"
        return f"{_COMMANDS[view]}{within}{named}"

    def link(self, query: Query, scope: Scope) -> str | None:
        """The Kubernetes Dashboard, where ``link`` names one; for a workload a search for its name."""
        if not self.backend.link:
            return None
        view, workload = self._question(query, scope)
        base, namespace = self.backend.link.rstrip("/"), quote(encodable(scope.project), safe="")
        if workload is not None and view != "versions":
            return f"{base}/#/search?namespace={namespace}&q={quote(encodable(workload), safe='')}"
        return f"{base}/#/{_PAGES.get(view, 'workloads')}?namespace={namespace}"

    def run(self, query: Query, scope: Scope) -> Result:
        """Read the lists, and say what the view says."""
        view, workload = self._question(query, scope)
        cluster = self._look(scope)
        if workload is not None and workload not in cluster.names:
            return Result(f"there is no workload {workload}", 1.0, "it is gone", kind="containers")
        changes = changes_in(_since_healthy(scope), cluster, workload)
        result = VIEWS[view](NamespaceState(cluster, changes, scope, workload))
        if is_past(scope.window) and not changes:
            return replace(result, signal=0.0, reason="nothing is known to have changed then")
        return result

    def notes(self, project: str) -> tuple[str, ...]:
        """Whether its clock disagrees."""
        return self._fetch.notes if "_fetch" in self.__dict__ else ()

    def close(self) -> None:
        """Close the connections."""
        if "_fetch" in self.__dict__:
            self._fetch.close()

    def _client(self) -> Fetcher:
        with self._lock:
            return self._fetch

    def _look(self, scope: Scope) -> Cluster:
        return self._seen.get_or_call(scope.project, lambda: look(self.name, self._client(), scope.project))

    def _question(self, query: Query, scope: Scope) -> tuple[str, str | None]:
        body = tree(query, scope)
        view = str(body.get("view", "state"))
        if view not in VIEWS:
            raise SourceError(self.name, f"the query's view is {view!r}; there are: {', '.join(VIEWS)}")
        return view, str(body["container"]) if "container" in body else None


def _since_healthy(scope: Scope) -> Window:
    """From the baseline's end on: a change that came between it and the window, such as a deploy, belongs to the incident."""
    return Window(min(scope.baseline.end, scope.window.start), scope.window.end)


def _shell(text: str) -> str:
    return shlex.quote(encodable(text.replace("\x00", "�")))
