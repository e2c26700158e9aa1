"""Fine-tunes the report encoder with sentence-transformers: texts that mean one thing move close to each other.

Each batch holds pairs of one kind without a repeated text, and the other pairs of the batch are the negatives
(multiple-negatives ranking; Henderson et al., 2017). Under torchrun all processes share the batches.
"""

from __future__ import annotations

import re
import shutil
import time
from pathlib import Path
from typing import Any

from datasets import Dataset, disable_progress_bars
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers.base.modality_types import SingleInput
from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator, SequentialEvaluator
from sentence_transformers.sentence_transformer.losses import CachedMultipleNegativesRankingLoss, MultipleNegativesRankingLoss
from sentence_transformers.sentence_transformer.training_args import BatchSamplers, MultiDatasetBatchSamplers
from torch import nn
from transformers import PrinterCallback, TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from transformers.utils import logging

from revelio.encoders.report import MAX_TOKENS
from revelio.training.arguments import TrainArguments
from revelio.training.distributed import ProcessGroup
from revelio.training.fit import seeded
from revelio.training.log import Epoch, TrainingLog
from revelio.training.text_pairs import TextPair, TextPairs

LEARNING_RATE = 5e-5
BATCH, CUDA_BATCH, CUDA_MINI_BATCH = 32, 256, 64
"""Pairs per step; a GPU takes more negatives, its memory bounded by mini-batches."""
TRAINING_TOKENS = 64
"""Texts are cut to so many tokens in training: half of the time, for few words."""
CPU_LAYERS = 3
"""On a CPU the last layers alone are trained: two steps in the time of one."""
HELD_OUT = 5
"""One group of pairs in so many is held out."""
_SCORE, _NDCG = "sequential_score", "cosine_ndcg@10"


def train_report_encoder(
    source: Path,
    pairs: TextPairs,
    out: Path,
    arguments: TrainArguments,
    key: str,
    group: ProcessGroup,
    log: TrainingLog,
) -> dict[str, float]:
    """Fine-tune the encoder in ``source`` into the sentence-transformers folder ``out``; returns its figures.

    The epoch whose mean nDCG@10 over the kinds is the highest on held-out pairs is kept, and the published weights count as
    epoch 0: an encoder that only gets worse is kept unchanged. ``held_out_before`` and ``held_out_after`` are these figures.
    """
    log.say("measure the published report encoder", 0, 1)
    model = load(source, str(group.device))
    model.max_seq_length = TRAINING_TOKENS
    if group.device.type == "cpu":
        _train_last_layers(model)
    held, learned = _split(pairs, arguments.seed)
    evaluator = SequentialEvaluator([_retrieval(kind, held[kind], pairs[kind]) for kind in pairs], _mean)
    before = evaluator(model)
    log.say("measure the published report encoder", 1, 1)
    work = arguments.out / "encoder.checkpoints" / seeded(arguments.seed, key + repr(pairs))[:16]
    trainer = _trainer(model, learned, evaluator, work, arguments, group)
    trainer.remove_callback(PrinterCallback)
    trainer.add_callback(_Reporter(log, arguments.fine_tune))
    trainer.train(resume_from_checkpoint=arguments.resume and any(work.glob("checkpoint-*")))
    epochs = [{k.removeprefix("eval_"): v for k, v in logged.items()} for logged in trainer.state.log_history]
    after = max([before, *(e for e in epochs if _SCORE in e)], key=lambda e: float(e[_SCORE]))
    if group.is_main:
        best = load(source, "cpu") if after is before else model
        best.max_seq_length = MAX_TOKENS
        best.save(str(out), create_model_card=False)
        shutil.rmtree(work.parent)
    group.barrier()
    figures = {"held_out_before": before[_SCORE], "held_out_after": after[_SCORE]}
    for kind, some in pairs.items():
        name = kind.replace(" ", "_")
        figures |= {f"{name}_{when}": e[f"{kind}_{_NDCG}"] for when, e in (("before", before), ("after", after))}
        figures[f"pairs_of_{name}"] = len(some)
    return {name: round(float(figure), 4) for name, figure in figures.items()}


def load(source: Path, device: str = "cpu") -> SentenceTransformer:
    """The encoder in a sentence-transformers folder; its attention is the one that can be exported."""
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    return SentenceTransformer(str(source), device=device, model_kwargs={"attn_implementation": "eager"}, local_files_only=True)


def _train_last_layers(model: SentenceTransformer) -> None:
    layers = {name: int(found[1]) for name, _ in model.named_parameters() if (found := re.search(r"\.layer\.(\d+)\.", name))}
    first = max(layers.values()) - CPU_LAYERS + 1
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(layers.get(name, -1) >= first)


def _trainer(
    model: SentenceTransformer,
    learned: TextPairs,
    evaluator: SequentialEvaluator,
    work: Path,
    arguments: TrainArguments,
    group: ProcessGroup,
) -> _Trainer:
    disable_progress_bars()
    cuda = group.device.type == "cuda"
    settings = SentenceTransformerTrainingArguments(
        output_dir=str(work),
        num_train_epochs=arguments.fine_tune,
        per_device_train_batch_size=max(2, (CUDA_BATCH if cuda else BATCH) // group.size),
        learning_rate=LEARNING_RATE,
        warmup_steps=0.1,
        weight_decay=0.01,
        seed=int(seeded(arguments.seed, "encoder")[:8], 16) % 2**31,
        batch_sampler=BatchSamplers.NO_DUPLICATES,
        multi_dataset_batch_sampler=MultiDatasetBatchSamplers.PROPORTIONAL,
        bf16=cuda,
        use_cpu=not cuda,
        dataloader_pin_memory=cuda,
        eval_strategy="epoch",
        save_strategy="epoch",
        save_total_limit=1,
        load_best_model_at_end=True,
        metric_for_best_model=f"eval_{_SCORE}",
        greater_is_better=True,
        logging_strategy="epoch",
        report_to="none",
        disable_tqdm=True,
    )
    loss: nn.Module
    if cuda:
        loss = CachedMultipleNegativesRankingLoss(model, mini_batch_size=CUDA_MINI_BATCH, gather_across_devices=group.size > 1)
    else:
        loss = MultipleNegativesRankingLoss(model, gather_across_devices=group.size > 1)
    data = {k: Dataset.from_dict({"anchor": [p.said for p in v], "positive": [p.meant for p in v]}) for k, v in learned.items()}
    return _Trainer(model=model, args=settings, train_dataset=data, loss=loss, evaluator=evaluator)


def _split(pairs: TextPairs, seed: int) -> tuple[TextPairs, TextPairs]:
    """The held-out groups of each kind, and the rest."""

    def is_held(pair: TextPair) -> bool:
        return int(seeded(seed, pair.group)[:8], 16) % HELD_OUT == 0

    held = {kind: [p for p in some if is_held(p)] or some[:1] for kind, some in pairs.items()}
    return held, {kind: [p for p in some if not is_held(p)] for kind, some in pairs.items()}


def _retrieval(kind: str, held: list[TextPair], every: list[TextPair]) -> InformationRetrievalEvaluator:
    """Finds the second texts of held-out pairs among all second texts of their kind."""
    corpus: dict[str, SingleInput] = {pair.meant: pair.meant for pair in every}
    asked: dict[str, SingleInput] = {pair.said: pair.said for pair in held}
    wanted: dict[str, set[str]] = {}
    for pair in held:
        wanted.setdefault(pair.said, set()).add(pair.meant)
    return InformationRetrievalEvaluator(
        asked,
        corpus,
        wanted,
        name=kind,
        ndcg_at_k=[10],
        map_at_k=[10],
        write_csv=False,
        main_score_function="cosine",
    )


class _Trainer(SentenceTransformerTrainer):
    """Collects nothing for a model card of the library: the model folder has one."""

    def add_model_card_callback(self, default_args_dict: dict[str, Any]) -> None: ...


def _mean(scores: list[float]) -> float:
    return sum(scores) / len(scores)


class _Reporter(TrainerCallback):
    """Passes progress and epochs of the trainer on to the training log."""

    def __init__(self, log: TrainingLog, epochs: int) -> None:
        self._log, self._epochs = log, epochs
        self._began, self._loss, self._rate = time.monotonic(), 0.0, 0.0

    def on_epoch_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **rest: Any) -> None:
        self._began = time.monotonic()
        self._log.say("fine-tune the report encoder", state.global_step, state.max_steps)

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **rest: Any) -> None:
        self._log.say("fine-tune the report encoder", state.global_step, state.max_steps)

    def on_log(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **rest: Any) -> None:
        self._loss = float(rest["logs"].get("loss", self._loss))
        self._rate = float(rest["logs"].get("learning_rate", self._rate))

    def on_evaluate(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **rest: Any) -> None:
        took, score = time.monotonic() - self._began, float(rest["metrics"][f"eval_{_SCORE}"])
        self._log.note(Epoch("encoder", round(state.epoch or 0), self._epochs, self._loss, 1.0 - score, self._rate, took))
