"""Training: from a labelled dataset to a model folder.

The report encoder is fine-tuned and exported first, and everything downstream uses the exported form, so that training
sees exactly the vectors of serving. Calibration is fitted on out-of-fold predictions; the final networks are trained
on all of ``train``.
"""

from __future__ import annotations

import math
import random
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import torch

from revelio.catalog import Catalog
from revelio.encoders.query import COMPONENT, FEATURES, QueryEncoder
from revelio.encoders.report import CachingEncoder, OnnxEncoder
from revelio.encoders.static_words import load_static_words
from revelio.encoders.words import template_words
from revelio.errors import DatasetError
from revelio.ranker import artifact
from revelio.systems.incidents.dataset import Dataset, LabelledIncident, open_datasets
from revelio.systems.incidents.exchange import Report
from revelio.training.arguments import TrainArguments
from revelio.training.batch import Example
from revelio.training.calibrate import Prediction, calibrate, top_shares
from revelio.training.card import model_card
from revelio.training.distributed import ProcessGroup, process_group
from revelio.training.encoder_note import EncoderNote, copy_note, read_note, write_note
from revelio.training.ensemble import Ensemble
from revelio.training.examples import examples, learn_reads, superposed_examples
from revelio.training.export import base_encoder, export_encoder, export_network
from revelio.training.fit import fit, predict, seeded
from revelio.training.log import Report as Progress
from revelio.training.log import TrainingLog
from revelio.training.null_distribution import against_others, leave_one_out, nulls
from revelio.training.practice import Practice
from revelio.training.simulation import corpus
from revelio.training.static_words import copy_or_distil
from revelio.training.superpose import superposed
from revelio.training.text_pairs import text_pairs


def train(
    arguments: TrainArguments,
    progress: Progress = lambda what, done, total: None,
    dataset: Dataset | None = None,
) -> artifact.Manifest:
    """Train on the ``train`` split and write the model folder. Raises ``DatasetError`` without usable training incidents.

    ``dataset`` replaces the folders that the arguments name. Under torchrun all processes train together; ``arguments.out``
    is then a folder shared by all of them.
    """
    if arguments.deterministic:
        torch.use_deterministic_algorithms(True)
    with process_group(arguments.device) as group:
        data = dataset or open_datasets(((arguments.dataset, arguments.dataset_catalog), *arguments.others))
        return _train(arguments, data, group, progress)


def train_encoder(arguments: TrainArguments, progress: Progress = lambda what, done, total: None) -> EncoderNote:
    """Train and export the report encoder alone, into a folder that ``TrainArguments.encoder`` takes."""
    with process_group(arguments.device) as group:
        dataset = open_datasets(((arguments.dataset, arguments.dataset_catalog), *arguments.others))
        arguments.out.mkdir(parents=True, exist_ok=True)
        log = TrainingLog.begin(arguments.out, progress, is_main=group.is_main, resume=arguments.resume)
        _report_encoder(arguments, dataset, "encoder", group, log)
        return read_note(arguments.out)


def _train(arguments: TrainArguments, dataset: Dataset, group: ProcessGroup, progress: Progress) -> artifact.Manifest:
    out = arguments.out
    out.mkdir(parents=True, exist_ok=True)
    if group.is_main:
        (out / artifact.MANIFEST).unlink(missing_ok=True)
    log = TrainingLog.begin(out, progress, is_main=group.is_main, resume=arguments.resume)
    catalog = dataset.all_tools(arguments.catalog)
    start = artifact.load_manifest(arguments.start).name if arguments.start else ""
    stable = replace(arguments, resume=False, out=Path(), encoder=None, start=None, catalog=Catalog(()))
    stable = replace(stable, dataset_catalog=None, others=(), pairs=())
    key = seeded(arguments.seed, repr(stable) + start + catalog.digest + dataset.digest)
    text = _report_encoder(replace(arguments, encoder=arguments.encoder or arguments.start), dataset, key, group, log)
    tools = catalog.tools[::-1]  # of two descriptions of one tool or metric, that of the first dataset holds
    tool_texts = {t.name: f"{t.title}. {t.about}".strip() for t in tools}
    noise = {m.name: m.noise_floor for t in tools for m in t.metrics}
    words = CachingEncoder(text)
    reads = learn_reads(log.each("read incidents", dataset.read("train")), catalog, words)
    if group.is_main:
        copy_or_distil(out, arguments.encoder or arguments.start, log.say)
    group.barrier()
    static = load_static_words(out / artifact.WORDS, out / artifact.TOKENIZER)
    encoder = QueryEncoder(words, tool_texts, noise, reads=reads, words=static)
    known = _known(arguments, dataset, text, encoder, log)
    used = frozenset(e.id for e in known)
    pairs = tuple(superposed((i for i in dataset.read("train") if i.record.id in used), arguments.partners))
    both = against_others(superposed_examples(log.each("superpose incidents", pairs), arguments.catalog, text, encoder), known)
    distributions, known = nulls(known), leave_one_out(known)

    texts = corpus(r for i in dataset.read("train") if i.record.id in used for r in i.record.reports)
    practice = Practice.make(arguments, texts, distributions, text, encoder, key, group, log)
    unseen = _cross_validated(known, both, practice, arguments, key, group, log)
    calibration = calibrate(unseen)
    network = _ensemble([*known, *both], (), "final", practice, arguments, key, group, log)
    metrics = (
        top_shares(unseen, calibration, "held_out")
        | practice.metrics
        | {
            "epochs": float(arguments.epochs),
            "members": float(arguments.members),
            "train_incidents": float(len(known)),
            "superposed": float(len(both)),
            "simulated": float(len(practice.examples)),
            "train_reports": float(sum(len(e.encodings) for e in known)),
            "seconds": round(log.seconds, 1),
            "checkpoint_share": round(log.checkpoint_share, 5),
        }
    )
    manifest = artifact.Manifest(
        name=f"revelio-{seeded(arguments.seed, artifact.FORMAT + key)[:8]}",
        catalog=catalog.digest,
        dataset=dataset.digest,
        seed=arguments.seed,
        tool_texts=tool_texts,
        noise=noise,
        reads=reads,
        metrics=metrics,
        packages={p: version(p) for p in ("torch", "onnx", "onnxruntime", "tokenizers", "numpy")},
        files={},
        abstain_slope=calibration.abstain_slope,
        abstain_offset=calibration.abstain_offset,
        temperature=calibration.temperature,
    )
    if group.is_main:
        export_network(network, text.dimension, len(FEATURES), len(COMPONENT), out / artifact.RANKER_WEIGHTS)
        artifact.save_texts(out, text, [*tool_texts.values(), *map(template_words, catalog.templates)])
        artifact.save_null_distributions(out, distributions)
        (out / artifact.CARD).write_text(model_card(manifest, read_note(out).sources), encoding="utf-8")
        artifact.save_manifest(out, manifest)
        for leftover in out.glob("*.checkpoint"):
            leftover.unlink()
    group.barrier()
    return artifact.load_manifest(out)


def _cross_validated(
    known: Sequence[Example],
    both: Sequence[Example],
    practice: Practice,
    arguments: TrainArguments,
    key: str,
    group: ProcessGroup,
    log: TrainingLog,
) -> list[Prediction]:
    """Out-of-fold predictions of each example. Of the superposed ones, ``both``, a fold sees those without a part held out.

    A fold is one system, because that is what a model meets where it is installed; of one system alone, a share of its incidents.
    """
    unseen: list[Prediction] = []
    systems = sorted({e.system for e in known})
    shares = min(arguments.folds, len(known)) if len(known) >= 10 else 0
    folds = [[e for e in known if e.system == name] for name in systems] if len(systems) > 1 else []
    for fold, held in enumerate((folds or [known[n::shares] for n in range(shares)]) if shares else ()):
        out = {e.id for e in held}
        rest = [e for e in (*known, *both) if e.id not in out and out.isdisjoint(e.parts)]
        network = _ensemble(rest, held, f"fold-{fold}", practice, replace(arguments, members=1), key, group, log)
        unseen += [p for e in held for p in predict(network, e, group.device)]
    return unseen


def _ensemble(
    known: Sequence[Example],
    held: Sequence[Example],
    part: str,
    practice: Practice,
    arguments: TrainArguments,
    key: str,
    group: ProcessGroup,
    log: TrainingLog,
) -> Ensemble:
    """An ensemble trained on these examples."""
    start = practice.start
    members = []
    for number in range(arguments.members):
        first = start[number % len(start)] if start else None
        members.append(fit(known, held, f"{part}.{number}", arguments, key, group, log, first, practice.examples))
    return Ensemble(members).eval()


def _known(
    arguments: TrainArguments, dataset: Dataset, text: OnnxEncoder, encoder: QueryEncoder, log: TrainingLog
) -> list[Example]:
    """The training examples, in an order that depends on the seed only."""
    known = examples(log.each("encode incidents", _also_misdirected(dataset, log)), arguments.catalog, text, encoder)
    known = sorted(known, key=lambda e: seeded(arguments.seed, e.id))[: math.ceil(len(known) * arguments.share)]
    if arguments.also:
        wanted = frozenset(arguments.also)
        others = (i for i in dataset.read() if i.record.id in wanted)
        known += examples(map(_without_reports, others), arguments.catalog, text, encoder)
    if not any(e.faulty for e in known):
        raise DatasetError(f"{arguments.dataset}: the train split has no incident with an accepted query among its candidates")
    return known


def _also_misdirected(dataset: Dataset, log: TrainingLog) -> Iterator[LabelledIncident]:
    """The training incidents, each with a report about another system as well: what says nothing here must change nothing."""
    told: dict[str, list[Report]] = {}
    for labelled in log.each("read reports", dataset.read("train")):
        told.setdefault(labelled.record.system, []).extend(labelled.record.reports)
    for labelled in dataset.read("train"):
        record = labelled.record
        others = [r for system, reports in sorted(told.items()) if system != record.system for r in reports]
        lot = random.Random(seeded(0, record.id))
        more = (lot.choice(others),) if others and record.reports else ()
        yield replace(labelled, record=replace(record, reports=(*record.reports, *more)))


def _without_reports(incident: LabelledIncident) -> LabelledIncident:
    """Reports by test writers are never used in training."""
    return replace(incident, record=replace(incident.record, reports=()))


def _report_encoder(arguments: TrainArguments, dataset: Dataset, key: str, group: ProcessGroup, log: TrainingLog) -> OnnxEncoder:
    weights, tokenizer = arguments.out / artifact.REPORT_WEIGHTS, arguments.out / artifact.TOKENIZER
    if arguments.encoder is not None:
        if group.is_main:
            shutil.copyfile(arguments.encoder / artifact.REPORT_WEIGHTS, weights)
            shutil.copyfile(arguments.encoder / artifact.TOKENIZER, tokenizer)
            copy_note(arguments.encoder, arguments.out)
    elif not (arguments.resume and weights.is_file() and tokenizer.is_file()):
        source, tuned = base_encoder(), arguments.out / "encoder"
        pairs, trained = {}, {}
        if arguments.fine_tune:
            incidents = log.each("collect texts for the report encoder", dataset.read("train"))
            pairs = text_pairs(incidents, dataset.all_tools(arguments.catalog), arguments.pairs)
        if pairs:
            log.say("measure the published report encoder", 0, 1)
            from revelio.training.report_encoder import train_report_encoder  # noqa: PLC0415  takes ten seconds to import

            trained = train_report_encoder(source, pairs, tuned, arguments, key, group, log)
            source = tuned
        if group.is_main:
            log.say("export the report encoder", 0, 1)
            write_note(arguments.out, trained, arguments.pairs)
            export_encoder(source, weights, tokenizer, quantize=arguments.quantize)
            shutil.rmtree(tuned, ignore_errors=True)
    group.barrier()
    return OnnxEncoder(weights, tokenizer)
