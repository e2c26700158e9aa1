"""What each image is made from. Tags are those of the official images, so that one Compose file serves both."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from testbed.images import artifacts
from testbed.images.artifacts import Artifact

TESTBED = Path(__file__).parent.parent
HERE = Path(__file__).parent
UNREAD = ("__pycache__", ".pyc", ".ruff_cache", ".mypy_cache")


@dataclass(frozen=True, slots=True)
class Recipe:
    """An image: its tag, the folder of its Dockerfile and build context, and what else goes in.

    `published` images are pulled where a registry answers; the others are always made. `parts` of the context go in.
    """

    tag: str
    context: Path
    dockerfile: str = "Dockerfile"
    base: "Recipe | None" = None
    artifact: Artifact | None = None
    published: bool = True
    parts: tuple[str, ...] = (".",)

    def files(self) -> Iterator[tuple[str, Path]]:
        """Every file of the build context as (name in the context, path), in a fixed order."""
        for part in self.parts:
            start = self.context / part
            for path in sorted(start.rglob("*")) if start.is_dir() else [start]:
                name = path.relative_to(self.context).as_posix()
                if path.is_file() and not any(unread in name for unread in UNREAD):
                    yield name, path

    def inputs(self) -> str:
        """A hash over everything that decides what the image becomes."""
        digest = hashlib.sha256(self.dockerfile.encode())
        if self.base:
            digest.update(self.base.inputs().encode())
        if self.artifact:
            digest.update(self.artifact.key.encode())
        for name, path in self.files():
            executable = path.stat().st_mode & 0o100
            digest.update(f"{name}\0{executable}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
        return digest.hexdigest()[:24]


DEBIAN = Recipe("debian:12-slim", HERE / "debian", artifact=artifacts.DEBIAN)
PYTHON = Recipe("python:3.11-slim", HERE / "python", base=DEBIAN)
# In the order in which they can be built: what takes longest to compile comes last.
BACKENDS = (
    Recipe("postgres:15", HERE / "postgres", base=DEBIAN),
    Recipe("redis:7", HERE / "redis", base=DEBIAN),
    Recipe("prom/prometheus:v2.42.0", HERE / "prometheus", base=DEBIAN),
    Recipe("revelio/logshipper:dev", HERE / "logshipper", base=DEBIAN, published=False),
    Recipe("revelio/observer:dev", HERE / "observer", base=PYTHON, published=False),
    Recipe("quay.io/prometheuscommunity/postgres-exporter:v0.11.1", HERE / "postgres-exporter", base=DEBIAN),
    Recipe("gcr.io/cadvisor/cadvisor:v0.49.2", HERE / "cadvisor", base=DEBIAN, artifact=artifacts.CADVISOR),
    Recipe(
        "docker.elastic.co/elasticsearch/elasticsearch:8.19.21",
        HERE / "elasticsearch",
        base=DEBIAN,
        artifact=artifacts.ELASTICSEARCH,
    ),
    Recipe("jaegertracing/all-in-one:1.76.0", HERE / "jaeger", base=DEBIAN, artifact=artifacts.JAEGER),
)


def application(app: str) -> Recipe:
    """The image that all services of an application share, built from `testbed/apps/APP/Dockerfile`."""
    return Recipe(
        f"revelio/{app}:dev",
        TESTBED,
        dockerfile=f"apps/{app}/Dockerfile",
        base=PYTHON,
        published=False,
        parts=(f"apps/{app}", "apps/__init__.py", "apps/requirements.txt", "kit", ".dockerignore"),
    )
