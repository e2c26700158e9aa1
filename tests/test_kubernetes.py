"""The manifests of deploy/kubernetes: fit for a restricted namespace, applied to a real API server, and rights to read alone."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest
import yaml

from revelio.settings import load_settings

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "deploy" / "kubernetes"
BINDING = ROOT / "docs" / "files" / "kubernetes-read-namespace.yaml"
ADMIN = ROOT / "docs" / "files" / "first-admin.json"
OBJECTS: list[Any] = [o for file in FOLDER.glob("[!k]*.yaml") for o in yaml.safe_load_all(file.read_text(encoding="utf-8"))]
ACCOUNT = "system:serviceaccount:revelio:revelio"


def test_the_account_may_list_and_nothing_else() -> None:
    rules = [rule for o in OBJECTS if o["kind"] == "ClusterRole" for rule in o["rules"]]
    assert {verb for rule in rules for verb in rule["verbs"]} == {"list"}
    listed = {resource for rule in rules for resource in rule["resources"]}
    assert not listed & {"secrets", "*", "pods/log", "pods/exec", "serviceaccounts"}


def test_config_maps_and_nodes_are_read_only_where_an_operator_binds_their_roles() -> None:
    bound = {o["roleRef"]["name"] for o in OBJECTS if o["kind"].endswith("RoleBinding")}
    (binding,) = yaml.safe_load_all(BINDING.read_text(encoding="utf-8"))
    given = [o for o in OBJECTS if o["kind"] == "ClusterRole" and o["metadata"]["name"] in bound | {binding["roleRef"]["name"]}]
    assert not {r for o in given for rule in o["rules"] for r in rule["resources"]} & {"configmaps", "nodes", "secrets"}


def test_the_pod_reaches_no_link_local_address() -> None:
    (policy,) = (o["spec"] for o in OBJECTS if o["kind"] == "NetworkPolicy")
    assert set(policy["policyTypes"]) == {"Ingress", "Egress"}
    names, backends = policy["egress"]
    assert {(p["port"], p["protocol"]) for p in names["ports"]} == {(53, "UDP"), (53, "TCP")}
    blocks = [ip_network(peer["ipBlock"]["cidr"]) for peer in backends["to"] if "ipBlock" in peer]
    kept_out = [ip_network(e) for peer in backends["to"] if "ipBlock" in peer for e in peer["ipBlock"]["except"]]
    for address in ("169.254.169.254", "fe80::1", "fd00:ec2::254"):
        assert any(ip_address(address) in block for block in blocks)
        assert any(ip_address(address) in block for block in kept_out)


def test_the_pod_fits_a_restricted_namespace() -> None:
    (deployment,) = (o for o in OBJECTS if o["kind"] == "Deployment")
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_its_settings_are_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REVELIO_CONFIG", str(FOLDER / "revelio.toml"))
    settings = load_settings()
    assert settings.accounts
    assert settings.systems["default"].backends


def test_the_unit_is_accepted_and_shut_in(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd is not installed here")
    unit = (ROOT / "docs" / "files" / "revelio.service").read_text(encoding="utf-8")
    (tmp_path / "revelio.service").write_text(unit.replace("/opt/revelio/bin/revelio", "/bin/true"), encoding="utf-8")
    command = ["systemd-analyze", "verify", "--man=no", str(tmp_path / "revelio.service")]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.foreign
def test_a_real_server_takes_them_and_the_account_can_only_read(tmp_path: Path) -> None:
    with api_server(tmp_path) as kubectl:
        assert "created" in kubectl("apply", "--validate=strict", "-k", FOLDER)
        assert "created" in kubectl("create", "namespace", "shop")
        may = ["auth", "can-i", "--as", ACCOUNT]
        assert kubectl(*may, "list", "pods", "-n", "shop").strip() == "no"
        assert "created" in kubectl("apply", "--validate=strict", "-n", "shop", "-f", BINDING)
        for listed in ("pods", "events", "deployments.apps", "horizontalpodautoscalers.autoscaling"):
            assert kubectl(*may, "list", listed, "-n", "shop").strip() == "yes", listed
            assert kubectl(*may, "list", listed, "-n", "kube-system").strip() == "no", listed
            assert kubectl(*may, "delete", listed, "-n", "shop").strip() == "no", listed
        assert kubectl(*may, "list", "nodes").strip().endswith("no")
        assert kubectl(*may, "list", "configmaps", "-n", "shop").strip() == "no"
        for verb, what in (
            ("list", "secrets"),
            ("get", "pods/log"),
            ("create", "pods/exec"),
            ("create", "pods"),
            ("get", "pods"),
        ):
            assert kubectl(*may, verb, what, "-n", "shop").strip() == "no", what
        assert "unchanged" in kubectl("apply", "-k", FOLDER)
        admin = ["run", "first-admin", "--image=revelio:dev", f"--overrides={ADMIN.read_text(encoding='utf-8')}"]
        assert "created" in kubectl("-n", "revelio", *admin, "--dry-run=server")


class Kubectl:
    """Calls kubectl on one server; the exit code of a `no` is no error."""

    def __init__(self, server: str, folder: Path) -> None:
        self._words = ["kubectl", f"--server={server}", "--insecure-skip-tls-verify", "--token=t"]
        self._home = {**os.environ, "HOME": str(folder), "KUBECONFIG": "/dev/null"}

    def __call__(self, *words: object) -> str:
        command = [*self._words, *map(str, words)]
        done = subprocess.run(command, check=False, capture_output=True, text=True, env=self._home, timeout=120)
        assert done.returncode == 0 or done.stdout.strip() == "no", done.stderr
        return done.stdout


@contextmanager
def api_server(folder: Path) -> Iterator[Kubectl]:
    cached = sorted((Path.home() / ".cache/revelio").glob("**/kube-apiserver"))
    program = shutil.which("kube-apiserver") or next((str(p) for p in cached if p.is_file()), None)
    lacking = [name for name in ("etcd", "kubectl", "openssl") if shutil.which(name) is None]
    if program is None or lacking:
        pytest.skip(f"not installed here: {', '.join(lacking) or 'kube-apiserver'}")
    etcd, peers, port = _free_port(), _free_port(), _free_port()
    (folder / "tokens.csv").write_text('t,tester,tester,"system:masters"\n', encoding="utf-8")
    key = folder / "accounts.key"
    subprocess.run(["openssl", "genrsa", "-out", str(key), "2048"], check=True, capture_output=True)
    store = ["etcd", f"--data-dir={folder}/etcd", f"--listen-client-urls=http://127.0.0.1:{etcd}"]
    store += [f"--advertise-client-urls=http://127.0.0.1:{etcd}", f"--listen-peer-urls=http://127.0.0.1:{peers}"]
    server = [program, f"--etcd-servers=http://127.0.0.1:{etcd}", f"--secure-port={port}", "--bind-address=127.0.0.1"]
    server += [f"--cert-dir={folder}/certificates", f"--token-auth-file={folder}/tokens.csv", "--authorization-mode=RBAC"]
    server += ["--service-account-issuer=https://kubernetes.default.svc", f"--service-account-key-file={key}"]
    server += [f"--service-account-signing-key-file={key}", "--disable-admission-plugins=ServiceAccount"]
    with ExitStack() as stack:
        for command in (store, server):
            log = stack.enter_context((folder / f"{Path(command[0]).name}.log").open("wb"))
            process = subprocess.Popen(command, stdout=log, stderr=log)
            stack.callback(process.wait)
            stack.callback(process.terminate)
        kubectl = Kubectl(f"https://127.0.0.1:{port}", folder)
        _wait_for(kubectl)
        yield kubectl


def _wait_for(kubectl: Kubectl) -> None:
    until = time.monotonic() + 180
    while True:
        try:
            if kubectl("get", "--raw", "/readyz") == "ok":
                return
        except AssertionError:
            if time.monotonic() > until:
                raise
        time.sleep(1)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])
