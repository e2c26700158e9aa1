"""Where an API server is and who asks it: as settings say, from a kubeconfig, or from inside a cluster."""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from revelio.errors import SourceError
from revelio.settings import Backend
from revelio.support.bounded_file import read_bounded
from revelio.support.bounded_yaml import read_yaml

IN_CLUSTER, KUBECONFIG = "in-cluster", "kubeconfig"
_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_SECRETS = {"token": "token", "token_file": "tokenFile", "user": "username", "password": "password"}


def kubeconfig_path() -> Path:
    """The file that kubectl reads."""
    return Path(os.environ.get("KUBECONFIG", "").split(os.pathsep)[0] or "~/.kube/config").expanduser()


def own_namespace() -> list[str]:
    """The namespace of the pod that this runs in; empty outside of one."""
    try:
        return [(_ACCOUNT / "namespace").read_text(encoding="utf-8").strip()]
    except (OSError, UnicodeDecodeError):
        return []


def resolved(source: str, backend: Backend, folder: Path) -> Backend:
    """The backend with the address and the credentials that its url stands for; ``SourceError`` says what is wrong.

    ``in-cluster`` is the service account of the pod that this runs in; ``kubeconfig`` is the file that kubectl reads, with
    ``kubeconfig:/PATH`` for another one and ``#CONTEXT`` behind either for another context than its current one.
    Certificates that are written in the file itself are put into ``folder``.
    """
    if backend.url == IN_CLUSTER:
        return _in_cluster(source, backend)
    if backend.url.partition("#")[0].partition(":")[0] != KUBECONFIG:
        return backend
    place, _, context = backend.url.removeprefix(KUBECONFIG).removeprefix(":").partition("#")
    path = Path(place).expanduser() if place else kubeconfig_path()
    try:
        read = read_yaml(read_bounded(path).decode("utf-8"))
        return _of_context(source, backend, read, context or str(read["current-context"]), path, folder)
    except (OSError, yaml.YAMLError, RecursionError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
        raise SourceError(source, f"its kubeconfig {path} cannot be read: {why}") from None
    except (KeyError, TypeError, AttributeError, ValueError, binascii.Error) as error:
        raise SourceError(source, f"its kubeconfig {path} is not one, or has no such context: {error}") from None


def _in_cluster(source: str, backend: Backend) -> Backend:
    host, port = os.environ.get("KUBERNETES_SERVICE_HOST", ""), os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    if not host:
        raise SourceError(source, f"its url is {IN_CLUSTER}, but this does not run in a pod; use kubeconfig, or an address")
    address = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    return backend.model_copy(
        update={"url": address, "token_file": _ACCOUNT / "token", "ca_file": backend.ca_file or _ACCOUNT / "ca.crt"}
    )


def _of_context(source: str, backend: Backend, read: Any, name: str, path: Path, folder: Path) -> Backend:
    context = _named(read["contexts"], name)["context"]
    cluster: Mapping[str, Any] = _named(read["clusters"], context["cluster"])["cluster"]
    user: Mapping[str, Any] = _named(read["users"], context["user"]).get("user") or {}
    if "exec" in user or "auth-provider" in user:
        raise SourceError(
            source,
            f"context {name} gets its credentials from a program, which is not run; give url, ca_file and token_file instead",
        )
    if cluster.get("insecure-skip-tls-verify"):
        raise SourceError(source, f"context {name} does not check the server's certificate; give url and ca_file instead")
    found: dict[str, object] = {"url": str(cluster["server"])}
    for setting, key in _SECRETS.items():
        if user.get(key):
            found[setting] = str(path.parent / user[key]) if setting == "token_file" else str(user[key])
    if "token_file" in found:
        found.pop("token", None)
    held = {
        "ca_file": (cluster, "certificate-authority"),
        "cert_file": (user, "client-certificate"),
        "key_file": (user, "client-key"),
    }
    for setting, (of, key) in held.items():
        if of.get(f"{key}-data"):
            found[setting] = _written(folder / setting, base64.b64decode(of[f"{key}-data"], validate=True))
        elif of.get(key):
            found[setting] = path.parent / str(of[key])
    if backend.proxy or cluster.get("proxy-url"):
        found["proxy"] = backend.proxy or str(cluster["proxy-url"])
    known = {"link": backend.link, "product": backend.product, "headers": backend.headers, "profile": backend.profile}
    return Backend.model_validate({**known, **found})


def _named(listed: list[Mapping[str, Any]], name: object) -> Mapping[str, Any]:
    found = next((one for one in listed if one["name"] == name), None)
    if found is None:
        raise KeyError(f"nothing is named {name!r}")
    return found


def _written(path: Path, content: bytes) -> Path:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    return path
