"""The bill of materials names every locked package; the audit says what is known, and when nothing is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer

ROOT = Path(__file__).parent.parent
LOCK = (
    "one==1.0 \\\n    --hash=sha256:"
    + "a" * 64
    + " \\\n    --hash=sha256:"
    + "b" * 64
    + "\ntwo-parts==2.0.1 ; python_version < '3.12'\n"
)


def run(script: str, lock: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / ".ci" / script), str(lock)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "NO_PROXY": "*", **environment}, timeout=60
    )


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    (tmp_path / "lock.txt").write_text(LOCK)
    return tmp_path / "lock.txt"


def test_the_bill_of_materials_names_every_locked_package_with_its_hashes(lock: Path) -> None:
    bill = json.loads(run("bill_of_materials.py", lock).stdout)
    assert (bill["bomFormat"], bill["metadata"]["component"]["name"]) == ("CycloneDX", "revelio-queries")
    assert [c["purl"] for c in bill["components"]] == ["pkg:pypi/one@1.0", "pkg:pypi/two-parts@2.0.1"]
    assert [r["hashes"][0]["content"][0] for r in bill["components"][0]["externalReferences"]] == ["a", "b"]


def test_the_bill_of_the_release_holds_all_that_it_imports() -> None:
    bill = json.loads(run("bill_of_materials.py", ROOT / "requirements" / "run.txt").stdout)
    assert {"onnxruntime", "fastapi", "sqlalchemy"} <= {c["name"] for c in bill["components"]}
    assert all(c["externalReferences"] for c in bill["components"])


@pytest.mark.parametrize(
    ("results", "code", "says"),
    [
        ([{}, {}], 0, "2 packages audited, 0 advisories"),
        ([{}, {"vulns": [{"id": "X-1"}]}], 1, "two-parts 2.0.1: X-1"),
        ([{}], 3, "not audited"),
        (None, 3, "not audited"),
    ],
)
def test_the_audit_says_what_is_known(httpserver: HTTPServer, lock: Path, results: object, code: int, says: str) -> None:
    httpserver.expect_request("/v1/querybatch").respond_with_json({"results": results})
    done = run("audit.py", lock, ADVISORIES=httpserver.url_for("").rstrip("/"))
    assert (done.returncode, says in done.stdout) == (code, True), done


def test_an_advisory_service_that_cannot_be_reached_is_said(lock: Path) -> None:
    done = run("audit.py", lock, ADVISORIES="http://127.0.0.1:9")
    assert done.returncode == 3
    assert "not audited: the advisory service http://127.0.0.1:9 cannot be asked" in done.stdout


def advisory(name: str, number: int, **of_range: str) -> tuple[str, str]:
    events = [{"introduced": of_range.pop("introduced", "0")}, *({kind: at} for kind, at in of_range.items())]
    affected = [{"package": {"ecosystem": "PyPI", "name": name}, "ranges": [{"type": "ECOSYSTEM", "events": events}]}]
    return f"X-{number}.json", json.dumps({"id": f"X-{number}", "affected": affected})


def test_the_audit_reads_an_archive_where_no_service_can_be_reached(lock: Path, tmp_path: Path) -> None:
    told = (
        advisory("one", 1, fixed="1.0"),
        advisory("One", 2, introduced="0.9", fixed="1.0.1"),
        advisory("two_parts", 3, introduced="2.0", last_affected="2.0.1"),
        advisory("two-parts", 4, introduced="2.0", last_affected="2.0.0"),
        advisory("another", 5),
    )
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for name, text in told:
            archive.writestr(name, text)
        archive.writestr("X-6.json", told[1][1].replace("X-2", "X-6").replace("{", '{"withdrawn": "2026-01-01T00:00:00Z", ', 1))
    done = run("audit.py", lock, ADVISORIES=str(tmp_path / "all.zip"))
    assert done.returncode == 1, done
    assert done.stdout.splitlines()[:2] == ["one 1.0: X-2", "two-parts 2.0.1: X-3"]
    assert done.stdout.splitlines()[2].startswith("2 packages audited, 2 advisories (")


@pytest.mark.parametrize("content", [b"", b"no archive"])
def test_an_archive_that_is_none_leaves_nothing_known(lock: Path, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "all.zip").write_bytes(content)
    assert run("audit.py", lock, ADVISORIES=str(tmp_path / "all.zip")).returncode == 3
