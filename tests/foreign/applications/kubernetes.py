"""Kubernetes: its API server, controllers and etcd, kube-state-metrics, and nodes that kwok stands in for."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import httpx

from tests.foreign.application import CACHE
from tests.foreign.faults import Fault, Undo, filled, killed, leads, lost, paused, shows, small_disk
from tests.foreign.machine import Machine, wait_until
from tests.foreign.users import Page

VERSION = "1.31.3"
FOLDER = CACHE / "kubernetes"
BIN = FOLDER / "bin"
API = "https://127.0.0.1:6443"
SHOP = ("web", "cart", "orders", "mailer")
PROGRAMS = ("kube-apiserver", "kube-controller-manager", "kube-state-metrics", "kwok")

_KUBECONFIG = """apiVersion: v1
kind: Config
clusters: [{name: own, cluster: {server: "https://127.0.0.1:6443", insecure-skip-tls-verify: true}}]
users: [{name: own, user: {}}]
contexts: [{name: own, context: {cluster: own, user: own}}]
current-context: own
"""
_POLICY = {
    "apiVersion": "abac.authorization.kubernetes.io/v1beta1",
    "kind": "Policy",
    "spec": {"group": "system:unauthenticated", "namespace": "*", "resource": "*", "apiGroup": "*", "nonResourcePath": "*"},
}
"""Lets everything on the machine in: with ``AlwaysAllow`` the API server refuses requests without a credential."""


class Kubernetes:
    """A cluster with a small shop in it."""

    name = "kubernetes"
    title = "Kubernetes 1.31 (API server, etcd, kube-state-metrics; nodes by kwok)"
    words: Mapping[str, str] = {
        "list": "kubectl get pods",
        "deploy": "a deployment",
        "config": "changing a config map",
        "events": "kubectl get events",
    }
    packages: tuple[str, ...] = ("etcd-server", "prometheus", "prometheus-node-exporter", "prometheus-process-exporter")

    def lacking(self) -> str:
        """The programs that are not there."""
        if not shutil.which("etcd"):
            return f"apt-get install --no-install-recommends {' '.join(self.packages)}"
        return "" if all((BIN / name).is_file() for name in PROGRAMS) else "python -m tests.foreign install kubernetes"

    def install(self) -> None:
        """The programs, built from their Go modules."""
        for name in ("kube-apiserver", "kube-controller-manager"):
            _build(name, f"k8s.io/kubernetes@v{VERSION}", f"k8s.io/kubernetes/cmd/{name}")
        _build("kube-state-metrics", "k8s.io/kube-state-metrics/v2@v2.13.0", "k8s.io/kube-state-metrics/v2")
        _build("kwok", "sigs.k8s.io/kwok@v0.6.1", "sigs.k8s.io/kwok/cmd/kwok")

    def start(self, machine: Machine) -> None:
        """Control plane, two nodes, and deployments whose pods are ready."""
        folder, programs = machine.folder, machine.programs
        data = small_disk(machine, "etcd", 200)
        programs.run("etcd", ["etcd", f"--data-dir={data / 'member'}", "--quota-backend-bytes=104857600"])
        wait_until(lambda: httpx.get("http://127.0.0.1:2379/health").status_code == 200, 60.0, "etcd")
        (folder / "kubeconfig").write_text(_KUBECONFIG, encoding="utf-8")
        (folder / "policy.jsonl").write_text(json.dumps(_POLICY) + "\n", encoding="utf-8")
        subprocess.run(["openssl", "genrsa", "-out", str(folder / "sa.key"), "2048"], check=True, capture_output=True, timeout=60)
        programs.run(
            "apiserver",
            [
                str(BIN / "kube-apiserver"),
                "--etcd-servers=http://127.0.0.1:2379",
                f"--cert-dir={folder / 'certs'}",
                "--advertise-address=127.0.0.1",
                "--service-cluster-ip-range=10.96.0.0/24",
                f"--service-account-key-file={folder / 'sa.key'}",
                f"--service-account-signing-key-file={folder / 'sa.key'}",
                "--service-account-issuer=https://kubernetes.default",
                "--authorization-mode=ABAC",
                f"--authorization-policy-file={folder / 'policy.jsonl'}",
                "--disable-admission-plugins=ServiceAccount",
                "--endpoint-reconciler-type=none",
            ],
        )
        wait_until(lambda: _client().get("/readyz").status_code == 200, 180.0, "the API server")
        config = f"--kubeconfig={folder / 'kubeconfig'}"
        quick = ["--node-monitor-grace-period=20s", "--bind-address=127.0.0.1", "--leader-elect=false"]
        manager = [f"--cert-dir={folder / 'certs'}", "--authorization-always-allow-paths=/healthz,/metrics"]
        programs.run("controller-manager", [str(BIN / "kube-controller-manager"), config, *quick, *manager])
        programs.run("kwok", [str(BIN / "kwok"), config, "--manage-all-nodes=true", "--node-lease-duration-seconds=40"])
        programs.run(
            "kube-state-metrics",
            [str(BIN / "kube-state-metrics"), config, "--host=127.0.0.1", "--port=8080", "--telemetry-host=127.0.0.1"],
        )
        _fill_cluster()
        insecure = ", scheme: https, tls_config: {insecure_skip_verify: true}"
        machine.scrape("kubernetes-apiservers", "127.0.0.1:6443", more=insecure)
        machine.scrape("kube-controller-manager", "127.0.0.1:10257", more=insecure)
        machine.scrape("etcd", "127.0.0.1:2379")
        machine.scrape("kube-state-metrics", "127.0.0.1:8080", more=", honor_labels: true")
        machine.host("etcd", "kube-apiserver", "kube-controller", "kube-state-metr", "kwok")

    def pages(self) -> tuple[str, Mapping[str, tuple[Page, float]], float]:
        """People and pipelines that talk to the cluster."""
        pages: dict[str, tuple[Page, float]] = {
            "list": (lambda c: c.get("/api/v1/namespaces/shop/pods", params={"limit": "50"}), 5),
            "deploy": (_rollout, 1),
            "config": (_configure, 2),
            "events": (lambda c: c.get("/api/v1/namespaces/shop/events", params={"limit": "20"}), 2),
        }
        return API, pages, 1.5

    def faults(self) -> tuple[Fault, ...]:
        """Faults of the control plane, its store, its nodes, and of what is deployed."""
        return (
            Fault(
                "etcd-killed",
                "process_killed",
                "etcd",
                killed("etcd"),
                (shows("up", service="etcd"), shows("db_leader", database="etcd"), shows("processes", container="etcd")),
            ),
            Fault(
                "bad-node-pool",
                "bad_release",
                "cart",
                _selector,
                (
                    shows("replicas_unavailable", workload="cart"),
                    shows("pending", container="cart"),
                    shows("rollout", workload="cart"),
                    leads("not_ready", container="cart"),
                ),
                _waiting("cart"),
            ),
            Fault(
                "nodes-lost",
                "process_killed",
                "kwok",
                killed("kwok"),
                (
                    shows("node_not_ready", host="*"),
                    leads("replicas_unavailable", workload="*"),
                    leads("not_ready", container="*"),
                ),
                _lost_nodes,
            ),
            Fault(
                "quota-used-up",
                "wrong_configuration",
                "orders",
                _quota,
                (
                    shows("quota", workload="shop"),
                    leads("replicas_unavailable", workload="orders"),
                    leads("replicas_wanted", workload="orders"),
                ),
                _waiting("orders"),
            ),
            Fault(
                "controllers-killed",
                "process_killed",
                "controller-manager",
                killed("controller-manager"),
                (shows("up", service="kube-controller-manager"), shows("processes", container="kube-controller")),
                lambda machine: "" if machine.programs.running("controller-manager") else "no controller runs",
            ),
            Fault(
                "etcd-hangs",
                "process_paused",
                "etcd",
                paused("etcd"),
                (shows("up", service="etcd"),),
            ),
            Fault(
                "broken-webhook",
                "wrong_configuration",
                "apiserver",
                _webhook,
                (
                    shows("error_rate", service="kubernetes-apiservers"),
                    shows("error_rate_by_route", service="kubernetes-apiservers"),
                ),
            ),
            Fault("disk-full", "disk_full", "etcd", _fill, (shows("disk_used", volume="*etcd"),), _is_full),
            Fault(
                "packets-lost",
                "packet_loss",
                "etcd",
                lost(2379, 0.25),
                (shows("retransmits", container="node"), shows("failed_connections", container="node")),
            ),
            Fault(
                "apiserver-killed",
                "process_killed",
                "apiserver",
                killed("apiserver"),
                (shows("up", service="kubernetes-apiservers"), shows("processes", container="kube-apiserver")),
            ),
        )


def _build(name: str, module: str, package: str) -> None:
    """A program of a Go module, with the versions that its own module file replaces."""
    if (BIN / name).is_file():
        return
    work = FOLDER / "build" / module.replace("/", "_")
    work.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=mod", "PATH": f"{os.environ['PATH']}:/usr/local/go/bin"}

    def go(*words: str) -> str:
        made = subprocess.run(["go", *words], cwd=work, env=environment, check=True, capture_output=True, text=True, timeout=5400)
        return made.stdout

    if not (work / "go.mod").is_file():
        go("mod", "init", f"foreign/{name}")
    got = json.loads(go("mod", "download", "-json", module))
    for line in Path(got["GoMod"]).read_text(encoding="utf-8").splitlines():
        words = line.split()
        if "=>" in words and "./staging" in line:
            go("mod", "edit", "-replace", f"{words[0]}={words[0]}@v0.{VERSION.split('.', 1)[1]}")
    (work / "go.sum").write_bytes((Path(got["Dir"]) / "go.sum").read_bytes())
    go("get", module)
    minor = VERSION.split(".")[1]
    stamp = f"-X k8s.io/component-base/version.gitVersion=v{VERSION} -X k8s.io/component-base/version.gitMajor=1"
    stamp += f" -X k8s.io/component-base/version.gitMinor={minor}"
    go("build", "-trimpath", "-ldflags", f"-s -w {stamp}", "-o", str(BIN / name), package)


def _client() -> httpx.Client:
    return httpx.Client(base_url=API, verify=False, timeout=20.0)


def _made(path: str, body: dict[str, object]) -> None:
    answer = _client().post(path, json=body)
    assert answer.status_code in (201, 409), answer.text[:300]


def _fill_cluster() -> None:
    for number in (1, 2):
        labels = {"kubernetes.io/hostname": f"node-{number}", "type": "kwok"}
        node = {"metadata": {"name": f"node-{number}", "labels": labels, "annotations": {"kwok.x-k8s.io/node": "fake"}}}
        room = {"cpu": "8", "memory": "16Gi", "pods": "50"}
        _made("/api/v1/nodes", {**node, "status": {"allocatable": room, "capacity": room}})
    _made("/api/v1/namespaces", {"metadata": {"name": "shop"}})
    for number, name in enumerate(SHOP):
        _made("/apis/apps/v1/namespaces/shop/deployments", _deployment(name, f"node-{1 + number % 2}"))
    wait_until(lambda: _unavailable() == 0, 180.0, "the deployments")


def _deployment(name: str, node: str) -> dict[str, object]:
    container = {
        "name": name,
        "image": f"registry.example/{name}:1.0",
        "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}},
    }
    template = {"metadata": {"labels": {"app": name}}, "spec": {"nodeName": node, "containers": [container]}}
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": name}}, "template": template}
    return {"metadata": {"name": name, "labels": {"app": name}}, "spec": spec}


def _unavailable(name: str = "") -> int:
    listed = _client().get("/apis/apps/v1/namespaces/shop/deployments").json()["items"]
    wanted = [d for d in listed if name in ("", d["metadata"]["name"])]
    return sum(int(d["spec"]["replicas"]) - int(d["status"].get("availableReplicas", 0)) for d in wanted)


def _patch(path: str, body: dict[str, object]) -> None:
    kind = {"content-type": "application/merge-patch+json"}
    answer = _client().patch(path, content=json.dumps(body), headers=kind)
    assert answer.status_code == 200, answer.text[:300]


def _selector(machine: Machine) -> Undo:
    path = "/apis/apps/v1/namespaces/shop/deployments/cart"
    new = {"nodeName": None, "nodeSelector": {"pool": "large-memory"}}
    strategy = {"type": "Recreate", "rollingUpdate": None}
    _patch(path, {"spec": {"strategy": strategy, "template": {"spec": new}}})
    return lambda: _patch(path, {"spec": {"template": {"spec": {"nodeName": "node-2", "nodeSelector": None}}}})


def _quota(machine: Machine) -> Undo:
    quotas = "/api/v1/namespaces/shop/resourcequotas"
    _made(quotas, {"metadata": {"name": "limits"}, "spec": {"hard": {"pods": "9"}}})
    path = "/apis/apps/v1/namespaces/shop/deployments/orders"
    _patch(path, {"spec": {"replicas": 5}})

    def undo() -> None:
        _client().delete(f"{quotas}/limits")
        _patch(path, {"spec": {"replicas": 2}})

    return undo


def _webhook(machine: Machine) -> Undo:
    path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"]}
    hook = {
        "name": "policy.example.org",
        "clientConfig": {"url": "https://127.0.0.1:9443/check"},
        "rules": [rule],
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Fail",
        "timeoutSeconds": 2,
    }
    _made(path, {"metadata": {"name": "policy"}, "webhooks": [hook]})
    return lambda: _client().delete(f"{path}/policy")


def _waiting(name: str) -> Callable[[Machine], str]:
    def bites(machine: Machine) -> str:
        lacking = _unavailable(name)
        return f"{lacking} pods of {name} are not available" if lacking else ""

    return bites


def _lost_nodes(machine: Machine) -> str:
    nodes = _client().get("/api/v1/nodes").json()["items"]
    ready = [c["status"] for n in nodes for c in n["status"].get("conditions", []) if c["type"] == "Ready"]
    return f"{sum(s != 'True' for s in ready)} nodes are not ready" if any(s != "True" for s in ready) else ""


def _rollout(client: httpx.Client) -> httpx.Response:
    note = {"metadata": {"annotations": {"note": str(random.random())}}}
    kind = {"content-type": "application/merge-patch+json"}
    return client.patch("/apis/apps/v1/namespaces/shop/deployments/mailer", content=json.dumps(note), headers=kind)


def _configure(client: httpx.Client) -> httpx.Response:
    body = {"metadata": {"name": f"setting-{random.randrange(200)}"}, "data": {"value": str(random.random())}}
    answer = client.post("/api/v1/namespaces/shop/configmaps", json=body)
    if answer.status_code != 409:
        return answer
    return client.put(f"/api/v1/namespaces/shop/configmaps/{body['metadata']['name']}", json=body)


def _fill(machine: Machine) -> Undo:
    return filled(machine.folder / "etcd")


def _is_full(machine: Machine) -> str:
    left = shutil.disk_usage(machine.folder / "etcd").free
    return f"{left} bytes are left" if left < 1_000_000 else ""
