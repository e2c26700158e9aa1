"""``python .ci/install_paths.py [PATH ...]``: installs Revelio along each path into an empty environment, asks it a first
question, and prints how long that took as a table in Markdown. Nothing is kept.

Paths are tried on every Python from 3.11 on that is installed here; the container image is left out where Docker is missing.
Packages come from an index on loopback that holds Revelio alone and sends every other request on to the usual index. What one
path has downloaded, later ones find in a cache, so the first row of each tool and Python shows what the network costs.
"""

from __future__ import annotations

import http.server
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pip._internal.models.index import PyPI

ROOT = Path(__file__).parent.parent
UV = ROOT / ".venv" / "bin" / "uv"
ELSEWHERE = os.environ.get("PIP_INDEX_URL", PyPI.simple_url).rstrip("/")
QUESTION = ("recommend", "checkout takes ages since lunch", "--incident", "shop-0e06ec2115", "--json")
IMAGE = "revelio:install-paths"
DISTRIBUTION = "revelio-queries"


@dataclass(frozen=True)
class Place:
    """An empty folder that is also the home directory, the index, and what was built."""

    folder: Path
    index: str
    dist: Path
    cache: Path

    def run(self, *command: object, cwd: Path | None = None) -> str:
        """Standard output; ``SystemExit`` with the end of standard error where the command fails."""
        kept = {k: v for k, v in os.environ.items() if k.endswith(("_CERT", "_CERT_FILE", "_PROXY", "_proxy", "_TIMEOUT"))}
        tools = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "UV_SYSTEM_CERTS": "1", "UV_PYTHON_DOWNLOADS": "never"}
        caches = {f"{tool}_CACHE_DIR": str(self.cache / tool) for tool in ("PIP", "UV")}
        words = [str(word) for word in command]
        done = subprocess.run(
            words, cwd=cwd or self.folder, env=kept | tools | caches, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"{' '.join(words)} failed in {self.folder}:\n{(done.stderr or done.stdout)[-3000:]}")
        return done.stdout

    def ask(self, *program: object) -> None:
        """The first question; the answer must rank queries."""
        answer = json.loads(self.run(*program, *QUESTION))
        assert answer["queries"][0]["probability"] > 0, answer


def with_pip(place: Place, python: str, what: str) -> None:
    """A virtual environment, and what is named installed into it."""
    place.run(python, "-m", "venv", "env")
    pip = (place.folder / "env/bin/python", "-m", "pip", "install", "--quiet", "--index-url", place.index)
    place.run(*pip, what)
    place.ask(place.folder / "env/bin/revelio")


def upgraded(place: Place, python: str, _: str) -> None:
    """0.1 with a store, then this version: the store is there still."""
    program, old = place.folder / "env/bin/revelio", older_wheel(place)
    place.run(python, "-m", "venv", "env")
    pip = (place.folder / "env/bin/python", "-m", "pip", "install", "--quiet", "--index-url", place.index)
    place.run(*pip, old)
    assert place.run(program, "--version").strip() == "revelio 0.1.0"
    place.run("sh", "-c", f"echo correct horse battery | {program} users add robin --role admin --password-stdin")
    place.run(place.folder / "env/bin/python", "-m", "pip", "uninstall", "--quiet", "--yes", "revelio")
    place.run(*pip, DISTRIBUTION)
    place.run(program, "store", "migrate")
    assert json.loads(place.run(program, "users", "list", "--json"))[0]["name"] == "robin"
    place.ask(program)


def older_wheel(place: Place) -> Path:
    """The last version 0.1, built from the history."""
    changes = place.run("git", "-C", ROOT, "log", "--format=%H", "-S", '__version__ = "0.1.0"', "--", "revelio/__init__.py")
    source = place.folder / "older"
    source.mkdir()
    place.run("sh", "-c", f"git -C {ROOT} archive {changes.split()[0]}^ | tar x -C {source}")
    place.run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", place.folder / "older-dist", cwd=source)
    (wheel,) = (place.folder / "older-dist").iterdir()
    return wheel


def with_pipx(place: Place, python: str, _: str) -> None:
    """With a pipx that uv fetches, as few machines have one."""
    pipx = (UV, "tool", "run", "--quiet", "--default-index", place.index, "pipx")
    place.run(*pipx, "install", "--quiet", "--python", python, "--index-url", place.index, DISTRIBUTION)
    place.ask(place.folder / ".local/bin/revelio")


def with_uvx(place: Place, python: str, _: str) -> None:
    """Nothing is installed: uv keeps the environment in its cache."""
    place.ask(UV, "tool", "run", "--quiet", "--python", python, "--default-index", place.index, "--from", DISTRIBUTION, "revelio")


def with_make(place: Place, _: str, __: str) -> None:
    """A copy of this checkout sets itself up."""
    place.run("sh", "-c", f"git -C {ROOT} ls-files -co --exclude-standard -z | (cd {ROOT}; tar c --null -T -) | tar x")
    place.run("sh", ".ci/setup", "run")
    place.ask(place.folder / ".venv/bin/revelio")


def with_docker(place: Place, _: str, __: str) -> None:
    """The image is built, and answers with a read-only file system."""
    place.run("docker", "build", "--quiet", "--no-cache", "--tag", IMAGE, ROOT)
    try:
        place.ask("docker", "run", "--rm", "--read-only", IMAGE)
    finally:
        place.run("docker", "image", "rm", "--force", IMAGE)


Way = tuple[str, Callable[[Place, str, str], None], str]
ON_EACH_PYTHON: tuple[Way, ...] = (
    ("pip, wheel", with_pip, DISTRIBUTION),
    ("pip, source distribution", with_pip, "SDIST"),
    ("pip, over version 0.1", upgraded, ""),
    ("pipx", with_pipx, ""),
    ("uvx", with_uvx, ""),
)
ONCE: tuple[Way, ...] = (("make run, from a checkout", with_make, ""), ("container image, built here", with_docker, ""))


@contextmanager
def index(dist: Path) -> Iterator[str]:
    """The address of a package index on loopback."""

    class Pages(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name = self.path.rstrip("/").rpartition("/")[2]
            if name == DISTRIBUTION:
                links = "".join(f'<a href="/files/{path.name}">{path.name}</a>' for path in dist.iterdir())
                self._send(f"<!DOCTYPE html><html><body>{links}</body></html>".encode(), "text/html")
            elif self.path.startswith("/files/"):
                self._send((dist / name).read_bytes(), "application/octet-stream")
            else:
                self.send_response(302)
                self.send_header("Location", f"{ELSEWHERE}/{name}/")
                self.end_headers()

        def _send(self, body: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        do_HEAD = do_GET  # noqa: N815 - the base class looks for this name

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/simple"
        server.shutdown()


def pythons() -> Iterator[tuple[str, str]]:
    """Version and path of each Python from 3.11 on that is installed here, by the system, uv or pyenv."""
    places = os.pathsep.join([*map(str, Path.home().glob(".pyenv/versions/*/bin")), os.environ["PATH"]])
    for minor in range(11, 20):
        found = subprocess.run(
            [UV, "python", "find", "--no-project", "--no-python-downloads", f"3.{minor}"],
            cwd="/",
            env={**os.environ, "PATH": places},
            capture_output=True,
            text=True,
            check=False,
        )
        if found.returncode == 0:
            yield f"3.{minor}", found.stdout.strip()


def measured(install: Callable[[Place, str, str], None], python: str, what: str, index: str, built: Path) -> tuple[float, float]:
    """Seconds to the first answer, and megabytes in the folder afterwards."""
    with tempfile.TemporaryDirectory(prefix="revelio-empty-") as empty:
        place = Place(Path(empty), index, built, built.with_name(f"{built.name}-cache"))
        start = time.perf_counter()
        install(place, python, what)
        took = time.perf_counter() - start
        size = sum(f.lstat().st_size for f in Path(empty).rglob("*") if f.is_file() and not f.is_symlink()) / 1e6
    return took, size


def main(wanted: list[str]) -> None:
    """Print a row for each path, all or those whose name and version contain a wanted text."""
    print("| way | Python | to the first answer, s | MB |\n|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory(prefix="revelio-") as folder:
        built = Path(folder) / "dist"
        for target in ("sdist", "wheel"):
            command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(built)]
            subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
        tried = [(way, *python) for python in pythons() for way in ON_EACH_PYTHON] + [(way, "", "") for way in ONCE]
        with index(built) as address:
            for (name, install, what), version, python in tried:
                if wanted and not any(word in f"{name} {version}" for word in wanted):
                    continue
                if install is with_docker and not shutil.which("docker"):
                    print(f"| {name} | | Docker is not installed here | |", flush=True)
                    continue
                source = str(next(built.glob("*.tar.gz")))
                took, size = measured(install, python, what.replace("SDIST", source), address, built)
                print(f"| {name} | {version} | {took:.0f} | {f'{size:.0f}' if size > 1 else ''} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
