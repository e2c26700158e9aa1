"""The slow ingredients of images, made once into a cache outside the checkout and keyed by version.

Everything comes through the ordinary clients of package registries: apt (mmdebstrap), Go, Maven.
"""

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from testbed.errors import StackError
from testbed.progress import Progress, Step

Run = Callable[..., None]
HERE = Path(__file__).parent
CA_BUNDLE = Path("/etc/ssl/certs/ca-certificates.crt")


@dataclass(frozen=True, slots=True)
class Artifact:
    """A file that takes long to make: `make(run, folder)` leaves `file` in the empty working folder it is given.

    It needs `program` on the path, which the Debian `package` brings. `version` is the key in the cache: it must change whenever
    `make` would make something else.
    """

    name: str
    version: str
    file: str
    program: str
    package: str
    make: Callable[[Run, Path], None]

    @property
    def key(self) -> str:
        """What identifies the file's content: name, version and file name."""
        return f"{self.name}/{self.version}/{self.file}"

    def path(self) -> Path:
        """Where the file lies in the cache once made."""
        return cache_folder() / self.key


def cache_folder() -> Path:
    """`REVELIO_CACHE`, by default `~/.cache/revelio`."""
    return Path(os.environ.get("REVELIO_CACHE") or Path.home() / ".cache" / "revelio")


def obtain(artifact: Artifact, progress: Progress) -> Path:
    """The artifact's file, made now unless the cache has it. Raises StackError when a tool is missing or fails."""
    path = artifact.path()
    subject = f"{artifact.name} {artifact.version}"
    path.parent.mkdir(parents=True, exist_ok=True)
    with _locked(path.parent / ".lock"):
        if path.exists():
            return path
        if shutil.which(artifact.program) is None:
            raise StackError(
                f"making {subject} needs `{artifact.program}`: install it (Debian package {artifact.package}) and try again"
            )
        progress(Step(subject, "running", "being made"))
        log = path.parent / "make.log"
        with tempfile.TemporaryDirectory(prefix="make-", dir=path.parent) as folder:
            artifact.make(_runner(subject, log), Path(folder))
            (Path(folder) / artifact.file).replace(path)
    progress(Step(subject, "done"))
    return path


def _runner(subject: str, log: Path) -> Run:
    log.unlink(missing_ok=True)

    def run(*command: str, cwd: Path, env: Mapping[str, str] | None = None) -> None:
        with log.open("ab") as out:
            out.write(f"$ {' '.join(command)}\n".encode())
            out.flush()
            done = subprocess.run(
                ["nice", "-n", "5", *command], cwd=cwd, env={**os.environ, **(env or {})}, stdout=out, stderr=out, check=False
            )
        if done.returncode:
            tail = " | ".join(log.read_text(errors="replace").splitlines()[-5:])
            raise StackError(f"making {subject} failed at `{' '.join(command)}`: {tail} (all of it: {log})")

    return run


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Two stacks brought up at once make an artifact once."""
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _make_debian(run: Run, folder: Path) -> None:
    options = ["--variant=essential", "--include=apt,ca-certificates", "--format=tar"]
    options += [f"--dpkgopt=path-exclude=/usr/share/{unread}/*" for unread in ("doc", "man", "locale", "info")]
    if CA_BUNDLE.exists():
        # A machine behind its own certificate authority builds images behind it too.
        options.append(f"--customize-hook=upload {CA_BUNDLE} {CA_BUNDLE}")
    run("mmdebstrap", *options, "bookworm", "rootfs.tar", cwd=folder)


def _make_jaeger(run: Run, folder: Path) -> None:
    module = "github.com/jaegertracing/jaeger@v1.76.0"
    run("go", "mod", "init", "local/jaeger", cwd=folder)
    # A dependency of Jaeger's asks for a module by a name that it no longer bears after this version.
    run("go", "mod", "edit", "-replace", "github.com/Shopify/sarama=github.com/Shopify/sarama@v1.33.0", cwd=folder)
    run("go", "mod", "download", module, cwd=folder)
    # Jaeger's own checksums pin what the build downloads.
    run("sh", "-c", 'cp "$(go env GOMODCACHE)/' + module + '/go.sum" . && chmod u+w go.sum', cwd=folder)
    run("go", "get", "-tool", "github.com/jaegertracing/jaeger/cmd/all-in-one@v1.76.0", cwd=folder)
    package = "github.com/jaegertracing/jaeger/cmd/all-in-one"
    run("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", "all-in-one", package, cwd=folder, env={"CGO_ENABLED": "0"})


def _make_cadvisor(run: Run, folder: Path) -> None:
    for name in ("main.go", "go.mod", "go.sum"):
        shutil.copy(HERE / "cadvisor" / name, folder)
    run("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", "cadvisor", ".", cwd=folder, env={"CGO_ENABLED": "0"})


def _make_elasticsearch(run: Run, folder: Path) -> None:
    artifact = "org.elasticsearch.distribution.integ-test-zip:elasticsearch:8.19.21:zip"
    options = ["-Dmdep.useBaseVersion=true", "-Dmdep.stripVersion=true", f"-DoutputDirectory={folder}"]
    run("mvn", "-B", "-q", "dependency:copy", f"-Dartifact={artifact}", *options, cwd=folder)


DEBIAN = Artifact("debian", "12-1", "rootfs.tar", "mmdebstrap", "mmdebstrap", _make_debian)
JAEGER = Artifact("jaeger", "1.76.0", "all-in-one", "go", "golang, 1.24 or newer", _make_jaeger)
CADVISOR = Artifact("cadvisor", "0.49.2-2", "cadvisor", "go", "golang, 1.24 or newer", _make_cadvisor)
ELASTICSEARCH = Artifact("elasticsearch", "8.19.21", "elasticsearch.zip", "mvn", "maven", _make_elasticsearch)
