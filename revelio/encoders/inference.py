"""Opens ONNX networks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from revelio.errors import ArtifactError


def open_session(weights: Path) -> Any:
    """An ``onnxruntime.InferenceSession``, safe to share between threads; ``ArtifactError`` when the file is damaged.

    It runs in the calling thread. A second thread speeds a pass of the report encoder up by a fifth at most, and then spins
    for longer than the pass takes, on the core that the server or the next request needs.
    """
    import onnxruntime as ort  # noqa: PLC0415  importing it costs 100 ms, which `revelio --help` need not pay

    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        return ort.InferenceSession(str(weights), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's own exception classes share no public base
        raise ArtifactError(f"{weights}: damaged or not an ONNX model: {error}") from error
