"""How a cluster is found: by the pod that this runs in, or by the context that kubectl uses."""

from __future__ import annotations

import os
from contextlib import closing

from revelio.catalog import ToolSpec
from revelio.settings import Backend
from revelio.tools.base import Limits
from revelio.tools.kubernetes.kubeconfig import IN_CLUSTER, KUBECONFIG, kubeconfig_path
from revelio.tools.kubernetes.tool import Kubernetes
from revelio.tools.probe import TIMEOUT_S, Probe, ProbeResult


def _places() -> tuple[str, ...]:
    if os.environ.get("KUBERNETES_SERVICE_HOST"):
        return (IN_CLUSTER,)
    return (KUBECONFIG,) if kubeconfig_path().is_file() else ()


def _look(url: str) -> ProbeResult:
    with closing(Kubernetes(ToolSpec("kubernetes", "Kubernetes", "", ()), Backend(url=url), Limits(seconds=TIMEOUT_S))) as tool:
        version, pods = tool.ping(), tool.namespaces()
    own = {name: count for name, count in pods.items() if not name.startswith("kube-")}
    told = f", workloads in {len(own)} namespaces" if own else ""
    return ProbeResult(f"{version}{told}", True, own)


PROBES = {"kubernetes": Probe(places=_places, look=_look)}
