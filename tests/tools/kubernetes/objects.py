"""A shop in a namespace: what its controllers and the kubelet would have written, sent to an API server as they do."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import httpx

Object = dict[str, Any]


def iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Writer:
    """Creates objects in one namespace."""

    def __init__(self, client: httpx.Client, namespace: str) -> None:
        self.client = client
        self.namespace = namespace
        self.uids: dict[str, str] = {}

    def create(self, api: str, plural: str, item: Object, status: Object | None = None) -> Object:
        """Create it, and write its status as a controller does."""
        where = f"{api}/namespaces/{self.namespace}/{plural}"
        made: Object = _good(self.client.post(where, json=item)).json()
        self.uids[made["metadata"]["name"]] = made["metadata"]["uid"]
        if status is not None:
            name = made["metadata"]["name"]
            patch = {"Content-Type": "application/merge-patch+json"}
            made = _good(self.client.patch(f"{where}/{name}/status", json={"status": status}, headers=patch)).json()
        return made

    def owner(self, kind: str, name: str) -> list[Object]:
        return [{"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": self.uids[name], "controller": True}]


def _good(response: httpx.Response) -> httpx.Response:
    assert response.is_success, response.text
    return response


def template(name: str, image: str, memory: str = "128Mi", more: Mapping[str, Any] | None = None) -> Object:
    container = {
        "name": name,
        "image": image,
        "env": [{"name": "DB_PASSWORD", "value": "hunter22"}, {"name": "PEER", "value": "http://orders"}],
        "resources": {"limits": {"memory": memory, "cpu": "500m"}},
        **(more or {}),
    }
    return {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}}


def fill(client: httpx.Client, namespace: str, now: float) -> None:
    """cart was rolled out with another image and less memory, and is killed for it; orders is well; payments cannot be placed."""
    _good(client.post("/api/v1/namespaces", json={"metadata": {"name": namespace}}))
    account = {"metadata": {"name": "default"}}
    client.post(f"/api/v1/namespaces/{namespace}/serviceaccounts", json=account)
    writer = Writer(client, namespace)
    writer.create("/api/v1", "configmaps", {"metadata": {"name": "cart-settings"}, "data": {"secret-ish": "do-not-tell-me"}})
    writer.create("/api/v1", "secrets", {"metadata": {"name": "cart-keys"}, "stringData": {"key": "do-not-tell-me-either"}})
    for name, replicas, serve in (("cart", 1, 0), ("orders", 1, 1), ("payments", 1, 0)):
        spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template(name, f"{name}:2")}
        writer.create(
            "/apis/apps/v1",
            "deployments",
            {"metadata": {"name": name}, "spec": spec},
            {"availableReplicas": serve, "replicas": replicas, "readyReplicas": serve},
        )
    for number, image, memory in ((1, "cart:1", "256Mi"), (2, "cart:2", "128Mi")):
        _replica_set(writer, "cart", number, image, memory)
    _replica_set(writer, "orders", 1, "orders:2", "128Mi")
    _replica_set(writer, "payments", 1, "payments:2", "128Mi")
    uses = {"envFrom": [{"configMapRef": {"name": "cart-settings"}}, {"secretRef": {"name": "cart-keys"}}]}
    killed = {"exitCode": 137, "reason": "OOMKilled", "startedAt": iso(now - 40), "finishedAt": iso(now - 20)}
    _pod(
        writer,
        "cart",
        2,
        template("cart", "cart:2", more=uses),
        {
            "name": "cart",
            "image": "cart:2",
            "imageID": "",
            "ready": False,
            "restartCount": 3,
            "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}},
            "lastState": {"terminated": killed},
        },
    )
    _pod(
        writer,
        "orders",
        1,
        template("orders", "orders:2"),
        {
            "name": "orders",
            "image": "orders:2",
            "imageID": "",
            "ready": True,
            "restartCount": 0,
            "state": {"running": {"startedAt": iso(now - 7200)}},
        },
    )
    _pod(writer, "payments", 1, template("payments", "payments:2"), None)
    _event(
        writer,
        "Pod",
        "cart-6d4cf56db6-x2vqz",
        "Unhealthy",
        "Readiness probe failed: HTTP probe failed with statuscode: 503",
        now - 15,
    )
    _event(
        writer,
        "Pod",
        "payments-6d4cf56db6-x2vqz",
        "FailedScheduling",
        "0/1 nodes are available: 1 Insufficient memory.",
        now - 10,
    )
    _event(writer, "Deployment", "cart", "ScalingReplicaSet", "Scaled up replica set cart-6d4cf56db6 to 1", now - 50, "Normal")
    quota = {"metadata": {"name": "all"}, "spec": {"hard": {"pods": "3"}}}
    writer.create("/api/v1", "resourcequotas", quota, {"hard": {"pods": "3"}, "used": {"pods": "3"}})
    scaled = {
        "scaleTargetRef": {"kind": "Deployment", "name": "cart", "apiVersion": "apps/v1"},
        "minReplicas": 1,
        "maxReplicas": 2,
    }
    limited = {
        "type": "ScalingLimited",
        "status": "True",
        "reason": "TooManyReplicas",
        "message": "more pods are wanted than allowed",
        "lastTransitionTime": iso(now - 30),
    }
    writer.create(
        "/apis/autoscaling/v2",
        "horizontalpodautoscalers",
        {"metadata": {"name": "cart"}, "spec": scaled},
        {"currentReplicas": 2, "desiredReplicas": 2, "conditions": [limited], "currentMetrics": None},
    )
    node = _good(client.post("/api/v1/nodes", json={"metadata": {"name": "one"}})).json()["metadata"]["name"]
    told = [{"type": "Ready", "status": "True"}, {"type": "DiskPressure", "status": "True", "message": "the disk is full"}]
    conditions = [{**c, "lastTransitionTime": iso(now - 25), "lastHeartbeatTime": iso(now)} for c in told]
    patch = {"Content-Type": "application/merge-patch+json"}
    _good(client.patch(f"/api/v1/nodes/{node}/status", json={"status": {"conditions": conditions}}, headers=patch))


HASHES = {1: "5c5f4d9c8b", 2: "6d4cf56db6"}


def _replica_set(writer: Writer, name: str, number: int, image: str, memory: str) -> None:
    made = HASHES[2 if name != "cart" else number]
    spec = template(name, image, memory)
    spec["metadata"]["labels"]["pod-template-hash"] = made
    meta = {
        "name": f"{name}-{made}",
        "ownerReferences": writer.owner("Deployment", name),
        "annotations": {"deployment.kubernetes.io/revision": str(number)},
    }
    labels = {"app": name, "pod-template-hash": made}
    writer.create(
        "/apis/apps/v1",
        "replicasets",
        {"metadata": meta, "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": spec}},
    )


def _pod(writer: Writer, name: str, number: int, spec: Object, container: Object | None) -> None:
    owner = f"{name}-{HASHES[2]}"
    meta = {"name": f"{owner}-x2vqz", "labels": {"app": name}, "ownerReferences": writer.owner("ReplicaSet", owner)}
    if container is None:
        said = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes are available"}
        status: Object = {"phase": "Pending", "conditions": [said]}
    else:
        ready = {"type": "Ready", "status": "True" if container["ready"] else "False"}
        status = {"phase": "Running", "conditions": [ready], "containerStatuses": [container]}
        spec = {**spec, "spec": {**spec["spec"], "nodeName": "one"}}
    writer.create("/api/v1", "pods", {"metadata": meta, "spec": spec["spec"]}, status)


def _event(writer: Writer, kind: str, name: str, reason: str, message: str, at: float, of: str = "Warning") -> None:
    writer.create(
        "/api/v1",
        "events",
        {
            "metadata": {"generateName": "e-"},
            "involvedObject": {"kind": kind, "name": name, "namespace": writer.namespace},
            "reason": reason,
            "message": message,
            "type": of,
            "firstTimestamp": iso(at),
            "lastTimestamp": iso(at),
            "count": 1,
        },
    )
