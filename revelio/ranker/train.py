"""Training: from a labelled dataset to a model folder.

The report encoder is exported first and everything downstream reads its exported form, so that training sees exactly the
vectors that serving will. Calibration is fitted on out-of-fold predictions; the final network is trained on all of ``train``.
"""

from __future__ import annotations

import hashlib
import math
import random
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from revelio.catalog import Catalog
from revelio.encoders.query import COMPONENT, FEATURES, OWN, TEXT, QueryEncoder, template_words
from revelio.encoders.report import CachingEncoder, OnnxEncoder
from revelio.errors import DatasetError, InvalidInputError
from revelio.incidents.dataset import open_dataset
from revelio.ranker import artifact, checkpoint
from revelio.ranker.batch import Batch, Example, batch
from revelio.ranker.calibrate import Prediction, calibrate
from revelio.ranker.card import model_card
from revelio.ranker.examples import examples
from revelio.ranker.export import base_encoder, export_encoder, export_network
from revelio.ranker.losses import log_probabilities, objective
from revelio.ranker.network import Network
from revelio.ranker.scoring import Calibration, Logits, rank
from revelio.ranker.session import INPUTS, network_inputs

RUN_FIRST = 0.4
"""Share of the batches in which some queries were run already."""

Report = Callable[[str, int, int], None]
"""Called with what is being done, steps done and steps in all."""


@dataclass(frozen=True, slots=True)
class TrainArguments:
    """Everything that decides the outcome, checked when made."""

    dataset: Path
    out: Path
    catalog: Catalog
    device: Literal["auto", "cpu", "cuda"] = "auto"
    resume: bool = False
    deterministic: bool = False
    seed: int = 0
    epochs: int = 60
    folds: int = 5
    batch_size: int = 16
    learning_rate: float = 2e-3
    weight_decay: float = 0.05
    share: float = 1.0
    encoder: Path | None = None
    """A model folder whose exported report encoder is taken as it is, instead of exporting the base encoder again."""

    def __post_init__(self) -> None:
        """``InvalidInputError`` for values that cannot work."""
        if self.epochs < 1 or self.batch_size < 1 or self.folds < 0 or not 0 < self.share <= 1:
            raise InvalidInputError("epochs and batch size must be at least 1, folds at least 0, share within (0, 1]")
        if self.device == "cuda" and not torch.cuda.is_available():
            raise InvalidInputError("device cuda was asked for, but torch sees no GPU; use --device cpu or auto")


def train(arguments: TrainArguments, progress: Report = lambda what, done, total: None) -> artifact.Manifest:
    """Train on the ``train`` split and write the model folder. Raises ``DatasetError`` when there is nothing to learn from."""
    began = time.monotonic()
    device = _device(arguments)
    out = arguments.out
    out.mkdir(parents=True, exist_ok=True)
    (out / artifact.MANIFEST).unlink(missing_ok=True)
    progress("export the report encoder", 0, 1)
    text = _report_encoder(arguments)
    catalog, dataset = arguments.catalog, open_dataset(arguments.dataset)
    tool_texts = {t.name: f"{t.title}. {t.about}".strip() for t in catalog.tools}
    noise = {m.name: m.noise for t in catalog.tools for m in t.metrics}
    encoder = QueryEncoder(CachingEncoder(text), tool_texts, noise)
    known = examples(dataset.read("train"), catalog, text, encoder)
    known = sorted(known, key=lambda e: _hash(arguments.seed, e.id))[: math.ceil(len(known) * arguments.share)]
    if not any(e.faulty for e in known):
        raise DatasetError(f"{arguments.dataset}: its train split holds no incident with an accepted query among its candidates")
    key = _hash(
        arguments.seed,
        repr(replace(arguments, resume=False, out=Path(), encoder=None, catalog=Catalog(()))) + catalog.digest + dataset.digest,
    )

    unseen: list[Prediction] = []
    folds = min(arguments.folds, len(known)) if len(known) >= 10 else 0
    for fold in range(folds):
        held = known[fold::folds]
        rest = [e for i, e in enumerate(known) if i % folds != fold]
        network = _fit(rest, arguments, device, f"fold-{fold}", key, progress)
        unseen += [p for e in held for p in _predict(network, e, device)]
    calibration = calibrate(unseen)
    network = _fit(known, arguments, device, "final", key, progress)
    export_network(network, text.dimension, len(FEATURES), len(COMPONENT), out / artifact.RANKER_WEIGHTS)
    artifact.save_texts(out, text, [*tool_texts.values(), *map(template_words, catalog.templates)])
    metrics = _held_out_metrics(unseen, calibration) | {
        "train_incidents": float(len(known)),
        "train_reports": float(sum(len(e.encodings) for e in known)),
        "seconds": round(time.monotonic() - began, 1),
    }
    manifest = artifact.Manifest(
        name=f"revelio-{key[:8]}",
        catalog=catalog.digest,
        dataset=dataset.digest,
        seed=arguments.seed,
        tool_texts=tool_texts,
        noise=noise,
        metrics=metrics,
        packages={p: version(p) for p in ("torch", "onnx", "onnxruntime", "tokenizers", "numpy")},
        files={},
        temperature=calibration.temperature,
        abstain_slope=calibration.abstain_slope,
        abstain_offset=calibration.abstain_offset,
    )
    (out / artifact.CARD).write_text(model_card(manifest), encoding="utf-8")
    artifact.save_manifest(out, manifest)
    for leftover in out.glob("*.checkpoint"):
        leftover.unlink()
    return artifact.load_manifest(out)


def _report_encoder(arguments: TrainArguments) -> OnnxEncoder:
    weights, tokenizer = arguments.out / artifact.REPORT_WEIGHTS, arguments.out / artifact.TOKENIZER
    if arguments.encoder is not None:
        shutil.copyfile(arguments.encoder / artifact.REPORT_WEIGHTS, weights)
        shutil.copyfile(arguments.encoder / artifact.TOKENIZER, tokenizer)
    elif not (arguments.resume and weights.is_file() and tokenizer.is_file()):
        export_encoder(base_encoder(), weights, tokenizer)
    return OnnxEncoder(weights, tokenizer)


def _device(arguments: TrainArguments) -> torch.device:
    if arguments.deterministic:
        torch.use_deterministic_algorithms(True)
    if arguments.device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return torch.device(arguments.device)


def _fit(
    known: Sequence[Example], arguments: TrainArguments, device: torch.device, part: str, key: str, progress: Report
) -> Network:
    """One run of the network. An epoch's randomness depends on seed and epoch alone, so a resumed run is the same run."""
    torch.manual_seed(int(_hash(arguments.seed, part)[:8], 16))
    network = Network(len(known[0].encodings[0].report), len(FEATURES), len(COMPONENT)).to(device)
    optimizer = torch.optim.AdamW(network.parameters(), lr=arguments.learning_rate, weight_decay=arguments.weight_decay)
    path = arguments.out / f"{part}.checkpoint"
    done = checkpoint.resume(path, network, optimizer, key) if arguments.resume else None
    losses = list(done.losses) if done else []
    for epoch in range(done.epoch if done else 0, arguments.epochs):
        rng = random.Random(_hash(arguments.seed, f"{part}/{epoch}"))
        torch.manual_seed(rng.getrandbits(31))
        for group in optimizer.param_groups:
            group["lr"] = arguments.learning_rate * 0.5 * (1 + math.cos(math.pi * epoch / arguments.epochs))
        losses.append(_epoch(network, optimizer, known, arguments.batch_size, rng, device))
        progress(f"train {part}, loss {losses[-1]:.3f}", epoch + 1, arguments.epochs)
        if (epoch + 1) % 10 == 0:
            checkpoint.save(path, network, optimizer, checkpoint.Progress(epoch + 1, tuple(losses)), key)
    return network.eval()


def _epoch(
    network: Network,
    optimizer: torch.optim.Optimizer,
    known: Sequence[Example],
    size: int,
    rng: random.Random,
    device: torch.device,
) -> float:
    network.train()
    order = rng.sample(range(len(known)), len(known))
    total = 0.0
    for start in range(0, len(order), size):
        members = [known[i] for i in order[start : start + size]]
        told = [rng.randrange(len(e.encodings)) for e in members]
        chunk = batch(members, told)
        if rng.random() < RUN_FIRST:
            chunk = batch(members, told, _tried(network, chunk, members, rng, device))
        inputs = _augmented({k: torch.from_numpy(v).to(device) for k, v in chunk.inputs.items()})
        tool, template, value, abstain = network(*(inputs[name] for name in INPUTS))
        joint = log_probabilities(tool, template, value, inputs["member"], inputs["mask"])
        loss = objective(joint, torch.from_numpy(chunk.grades).to(device), abstain, torch.from_numpy(chunk.faulty).to(device))
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        total += float(loss.detach()) * len(members)
    return total / len(known)


@torch.no_grad()
def _tried(
    network: Network, chunk: Batch, members: Sequence[Example], rng: random.Random, device: torch.device
) -> list[dict[int, float]]:
    """One to three queries that somebody would have run first, had the network ranked: none that shows the cause."""
    network.eval()
    inputs = {k: torch.from_numpy(v).to(device) for k, v in chunk.inputs.items()}
    tool, template, value, _ = network(*(inputs[name] for name in INPUTS))
    joint = log_probabilities(tool, template, value, inputs["member"], inputs["mask"]).cpu().numpy()
    network.train()
    tried = []
    for scores, example in zip(joint, members, strict=True):
        encoded = example.encodings[0]
        chance = np.exp(scores[encoded.row, encoded.column].astype(np.float64))
        chance[(example.grades[encoded.row, encoded.column] >= 3) | ~np.isfinite(example.signals)] = 0.0
        some = min(rng.randint(1, 3), int((chance > 0).sum()))
        lot = np.random.default_rng(rng.getrandbits(32))
        picks = lot.choice(len(chance), some, replace=False, p=chance / chance.sum()) if some else ()
        tried.append({int(i): float(example.signals[i]) for i in picks})
    return tried


def _augmented(inputs: dict[str, Tensor]) -> dict[str, Tensor]:
    """Now and then a template's own reading, or the whole report, is not there; figures tremble a little.

    So that the network leans on no single input: sources do fall silent, and reports do say nothing.
    """
    features, report = inputs["features"].clone(), inputs["report"].clone()
    b, t = features.shape[:2]
    blind = (torch.rand(b, t, 1, 1, device=features.device) < 0.1).expand(b, t, features.shape[2], len(OWN))
    features[..., : len(OWN)] = torch.where(blind, torch.zeros_like(blind, dtype=features.dtype), features[..., : len(OWN)])
    silent = torch.rand(b, device=features.device) < 0.1
    report[silent] = 0.0
    first = FEATURES.index(TEXT[0])
    features[..., first : first + len(TEXT)] *= (~silent).float()[:, None, None, None]
    features += 0.03 * torch.randn_like(features)
    return inputs | {"features": features * inputs["mask"].unsqueeze(-1), "report": report}


@torch.no_grad()
def _predict(network: Network, example: Example, device: torch.device) -> list[Prediction]:
    found = []
    for encoded in example.encodings:
        inputs = network_inputs(encoded)
        tool, template, value, abstain = network(*(torch.from_numpy(inputs[name]).to(device) for name in INPUTS))
        logits = Logits(tool[0].cpu().numpy(), template[0].cpu().numpy(), value[0].cpu().numpy(), float(abstain[0]))
        found.append(Prediction(encoded, logits, example.grades[encoded.row, encoded.column], example.faulty))
    return found


def _held_out_metrics(unseen: Sequence[Prediction], calibration: Calibration) -> dict[str, float]:
    """Top-1 and top-3 of the out-of-fold predictions: what to choose settings by, since test splits are not for that."""
    hits: list[tuple[float, float]] = []
    for p in (p for p in unseen if p.faulty):
        order = np.argsort(-rank(p.encoded, p.logits, calibration).log_probability, kind="stable")
        good = p.grades[order] >= 3
        hits.append((float(good[:1].any()), float(good[:3].any())))
    if not hits:
        return {}
    top1, top3 = np.mean(hits, axis=0)
    return {"held_out_top1": round(float(top1), 4), "held_out_top3": round(float(top3), 4)}


def _hash(seed: int, text: str) -> str:
    return hashlib.sha256(f"{seed}/{text}".encode()).hexdigest()
