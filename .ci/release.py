"""``python .ci/release.py``: makes dist/ with what a release consists of, and SHA256SUMS over it.

The same commit gives the same files, byte for byte. Wheel and source distribution, the Kubernetes manifests, the documentation
site and a bill of materials; versions are semantic, and a tag must be ``vVERSION`` of the commit's own version.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from bill_of_materials import bill

ROOT = Path(__file__).parent.parent
DIST = ROOT / "dist"


def version() -> str:
    """The version of the package; ``SystemExit`` where it is not semantic, or the commit has a tag of another version."""
    text = (ROOT / "revelio" / "__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "(\d+\.\d+\.\d+)"$', text, flags=re.MULTILINE)
    if found is None:
        raise SystemExit("revelio/__init__.py has no semantic version")
    tags = [tag for tag in _git("tag", "--points-at", "HEAD").split() if tag.startswith("v")]
    if tags and f"v{found[1]}" not in tags:
        raise SystemExit(f"the commit has the tag {tags[0]}, and the package is version {found[1]}")
    return found[1]


def main() -> None:
    """Make everything again."""
    if _git("status", "--porcelain"):
        raise SystemExit("commit everything first: a release is made of a commit")
    name, moment = f"revelio-{version()}", int(_git("log", "-1", "--format=%ct"))
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    reproducible = {**os.environ, "SOURCE_DATE_EPOCH": str(moment)}
    for target in ("wheel", "sdist"):
        _run("-m", "hatchling", "build", "-t", target, "-d", str(DIST), env=reproducible)
    (DIST / f"{name}.cdx.json").write_text(json.dumps(bill(ROOT / "requirements" / "run.txt"), indent=1) + "\n", encoding="utf-8")
    _pack(DIST / f"{name}-kubernetes.tar.gz", ROOT / "deploy" / "kubernetes", f"{name}-kubernetes", moment)
    _run("-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(ROOT / "var" / "site"), env=reproducible)
    _pack(DIST / f"{name}-docs.tar.gz", ROOT / "var" / "site", f"{name}-docs", moment)
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(DIST.iterdir())]
    (DIST / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")
    print("".join(sums), end="")


def _pack(archive: Path, folder: Path, top: str, moment: int) -> None:
    def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        entry.mtime = moment
        entry.mode = 0o644
        return entry

    with (
        archive.open("wb") as file,
        gzip.GzipFile("", "wb", fileobj=file, mtime=moment) as packed,
        tarfile.open(fileobj=packed, mode="w") as tar,
    ):
        for path in sorted(p for p in folder.rglob("*") if p.is_file() and p.suffix != ".gz"):
            tar.add(path, f"{top}/{path.relative_to(folder)}", filter=plain)


def _run(*words: str, env: dict[str, str]) -> None:
    subprocess.run([sys.executable, *words], cwd=ROOT, env=env, check=True, stdout=subprocess.DEVNULL)


def _git(*words: str) -> str:
    return subprocess.run(
        [shutil.which("git") or "git", *words], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()


if __name__ == "__main__":
    main()
