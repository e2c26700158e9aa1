"""A real API server for a test, and how its replies are recorded: ``python -m tests.tools.kubernetes.server``."""

from __future__ import annotations

import os
import shutil
import ssl
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import httpx
import pytest

from revelio.settings import Backend
from revelio.tools.base import Limits, Scope
from revelio.tools.kubernetes.tool import Kubernetes
from revelio.types import Window
from tests.foreign.programs import free_port
from tests.tools.conftest import bound, spec
from tests.tools.kubernetes.objects import fill
from tests.tools.programs import program, running
from tests.tools.recorded import recorded

QUESTIONS = [
    *(
        ("containers." + view, {"container": "cart"})
        for view in ("state", "restarts", "limits", "oom", "config", "health", "events")
    ),
    ("containers.all_events", {}),
    ("kubernetes.versions", {"container": "cart"}),
    ("kubernetes.scaling", {"container": "cart"}),
    ("kubernetes.nodes", {}),
    ("kubernetes.quotas", {}),
]
TOKEN = "a-token-of-the-test"


@contextmanager
def real_server(folder: Path) -> Iterator[tuple[Backend, Scope]]:
    """How it is reached, and the scope of the incident in it."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not here to make certificates with")
    etcd, port = free_port(), free_port()
    address = f"http://127.0.0.1:{etcd}"
    store = [
        program("etcd"),
        f"--data-dir={folder}/etcd",
        f"--listen-client-urls={address}",
        f"--advertise-client-urls={address}",
    ]
    store += [f"--listen-peer-urls=http://127.0.0.1:{free_port()}", "--log-level=error"]
    (folder / "tokens.csv").write_text(f'{TOKEN},tester,tester,"system:masters"\n', encoding="utf-8")
    subprocess.run(["openssl", "genrsa", "-out", str(folder / "accounts.key"), "2048"], check=True, capture_output=True)
    server = [
        program("kube-apiserver"),
        f"--etcd-servers={address}",
        f"--secure-port={port}",
        "--bind-address=127.0.0.1",
        f"--cert-dir={folder}/certificates",
        f"--token-auth-file={folder}/tokens.csv",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={folder}/accounts.key",
        f"--service-account-signing-key-file={folder}/accounts.key",
        "--disable-admission-plugins=ServiceAccount,ResourceQuota",
        "--authorization-mode=RBAC",
    ]
    with running(store, folder / "etcd.log", f"{address}/health"), running(server, folder / "server.log", "", 120.0):
        authority = folder / "certificates" / "apiserver.crt"
        _wait(port, authority)
        context = ssl.create_default_context(cafile=authority)
        now = time.time()
        with httpx.Client(
            base_url=f"https://127.0.0.1:{port}", verify=context, headers={"Authorization": f"Bearer {TOKEN}"}
        ) as client:
            fill(client, "shop", now)
        backend = Backend.model_validate({"url": f"https://127.0.0.1:{port}", "token": TOKEN, "ca_file": str(authority)})
        yield backend, Scope("shop", Window(now - 60.0, now + 60.0), Window(now - 600.0, now - 60.0))


def _wait(port: int, authority: Path, seconds: float = 120.0) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            context = ssl.create_default_context(cafile=authority)
            if httpx.get(
                f"https://127.0.0.1:{port}/readyz", verify=context, headers={"Authorization": f"Bearer {TOKEN}"}
            ).is_success:
                return
        except (OSError, httpx.HTTPError):
            pass
        time.sleep(0.5)
    raise TimeoutError("the API server is not ready")


@contextmanager
def kubernetes(backend: Backend) -> Iterator[Kubernetes]:
    """A tool that asks it."""
    with closing(Kubernetes(spec("containers"), backend, Limits(seconds=10.0))) as tool:
        yield tool


if __name__ == "__main__":
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        real, scope = stack.enter_context(real_server(place))
        os.environ["SSL_CERT_FILE"] = str(real.ca_file)
        between = stack.enter_context(recorded("kubernetes", scope, real.url, {"Authorization": f"Bearer {TOKEN}"}))
        tool = stack.enter_context(kubernetes(Backend(url=between)))
        tool.ping()
        tool.namespaces()
        tool.snapshot(scope)
        for template, bindings in QUESTIONS:
            tool.run(bound(template, **bindings), scope)
