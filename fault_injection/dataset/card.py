"""The figures of a dataset's card, from what is recorded and frozen, and their places in the page that describes it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fault_injection.campaigns.status import discarded_runs, records_in
from fault_injection.dataset.accepted_features import AcceptedFeatures, Discussed, load_accepted_features
from fault_injection.dataset.label_report import label_report
from fault_injection.dataset.template_coverage import CONTROL
from revelio.errors import DatasetError, InvalidInputError
from revelio.systems.incidents.dataset import SPLITS, open_dataset


@dataclass(frozen=True, slots=True)
class Figures:
    """What a card says in figures. ``digest`` is that of the manifest that they were counted with.

    ``runs`` are fewer than ``incidents`` where two faults were active at once. ``splits`` and ``kinds`` count by application;
    ``kinds`` are by category. ``shown`` is the share of runs, recorded or discarded as unexplained, whose cause a tool showed.
    ``labels`` are (all, proven).
    """

    digest: str
    incidents: int
    runs: int
    controls: int
    reports: int
    writers: int
    megabytes: float
    splits: dict[str, dict[str, int]]
    kinds: dict[str, dict[str, dict[str, int]]]
    labels: tuple[int, int]
    shown: float
    discarded: dict[str, int]


def figures(out: Path) -> Figures:
    """Count; ``DatasetError`` where the dataset is not frozen, or is not as it was frozen."""
    frozen = open_dataset(out)
    if not frozen.splits:
        raise DatasetError(f"{out}: not frozen; run `revelio campaign freeze --out {out}` first")
    splits: dict[str, Counter[str]] = {name: Counter() for name in SPLITS}
    kinds: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    reports = controls = labels = proven = 0
    writers: set[str] = set()
    runs: set[str] = set()
    for record in records_in(out):
        splits[frozen.splits[record.id]][record.system] += 1
        runs.add(record.run or record.id)
        reports += len(record.reports)
        writers.update(report.writer for report in record.reports)
        labels += len(record.labels)
        proven += sum(label.proven for label in record.labels)
        if record.fault:
            controls += record.fault.category == CONTROL
            kinds[record.fault.category][record.fault.kind][record.system] += 1
    proofs = label_report(out).kinds
    return Figures(
        frozen.digest,
        len(frozen.splits),
        len(runs),
        controls,
        reports,
        len(writers),
        round(sum(path.stat().st_size for path in out.rglob("*") if path.is_file()) / 1e6, 1),
        {name: dict(sorted(counts.items())) for name, counts in splits.items()},
        {category: {kind: dict(sorted(by.items())) for kind, by in sorted(of.items())} for category, of in sorted(kinds.items())},
        (labels, proven),
        sum(p.shown for p in proofs) / max(1, sum(p.runs for p in proofs)),
        dict(Counter(entry["stage"] for entry in discarded_runs(out)).most_common()),
    )


def blocks(told: Figures, accepted: AcceptedFeatures | None = None) -> dict[str, str]:
    """The Markdown of the blocks ``figures`` and ``features``."""
    return {"figures": _figures(told), "features": features_table(accepted or load_accepted_features())}


def put(page: Path, made: Mapping[str, str]) -> None:
    """Write each block between its two comments in the page; ``InvalidInputError`` when the page has no such place."""
    text = page.read_text(encoding="utf-8")
    for name, block in made.items():
        head, begin, rest = text.partition(f"<!-- {name} -->\n")
        _, end, tail = rest.partition(f"<!-- end of {name} -->")
        if not begin or not end:
            raise InvalidInputError(f"{page}: has no place for {name}: <!-- {name} --> and <!-- end of {name} -->")
        text = head + begin + block + "\n" + end + tail
    page.write_text(text, encoding="utf-8")


def block_in(page: str, name: str) -> str:
    """What stands in that place of a page's text; empty where there is none."""
    return page.partition(f"<!-- {name} -->\n")[2].partition(f"\n<!-- end of {name} -->")[0]


def frozen_line(counts: Mapping[str, int], digest: str) -> str:
    """The line that ties a card to its manifest."""
    told = ", ".join(f"{counts[name]} {name}" for name in SPLITS if counts.get(name))
    return f"{sum(counts.values())} incidents, frozen as `{digest}`: {told}."


def line_of_manifest(out: Path) -> str:
    """What a card's first line has to say about the manifest as it is now. Reads no incident."""
    frozen = open_dataset(out, verify=False)
    return frozen_line(Counter(frozen.splits.values()), frozen.digest)


def features_table(accepted: AcceptedFeatures) -> str:
    """Every feature that ``leakage_features.yaml`` discusses, those that a real fault would not leave first."""
    rows = [("every kind", entry) for entry in accepted.everywhere]
    for name, mechanism in accepted.mechanisms.items():
        rows += [(name, entry) for entry in mechanism.features]
    rows += [(kind, entry) for kind, entries in accepted.kinds.items() for entry in entries]
    merged: dict[Discussed, list[str]] = {}
    for where, entry in rows:
        merged.setdefault(entry, []).append(where)
    ordered = sorted(merged.items(), key=lambda pair: ("no", "partly", "yes").index(pair[0].real))
    lines = ["| made by | does | kinds |", "|---|---|---|"]
    lines += [f"| {name} | {m.does} | {', '.join(m.kinds)} |" for name, m in accepted.mechanisms.items()]
    lines += ["", "| feature | of | would a real one leave it? | why |", "|---|---|---|---|"]
    lines += [f"| `{e.feature}` | {', '.join(where)} | {e.real} | {' '.join(e.because.split())} |" for e, where in ordered]
    return "\n".join(lines)


def _figures(told: Figures) -> str:
    counted = {name: sum(by.values()) for name, by in told.splits.items()}
    apps = sorted({app for by in told.splits.values() for app in by})
    judged, proven = told.labels
    pairs = told.incidents - told.runs
    at_once = [f"{2 * pairs} of them come from {pairs} runs in which two faults were active at once."] if pairs else []
    lines = [
        frozen_line(counted, told.digest),
        *at_once,
        f"{told.controls} of them are controls ({told.controls / told.incidents:.0%}). {told.reports} reports by {told.writers} "
        f"writers; {judged} labels judged, {proven} of them proven;",
        f"a tool showed the cause in {told.shown:.0%} of the runs whose fault users felt. {told.megabytes:g} MB.",
        "",
        "Discarded runs: " + (", ".join(f"{count} {stage}" for stage, count in told.discarded.items()) or "none") + ".",
        "",
        "| split | " + " | ".join(apps) + " | all |",
        "|---|" + "---|" * (len(apps) + 1),
    ]
    for name, by in told.splits.items():
        lines.append(f"| {name} | " + " | ".join(str(by.get(app, 0)) for app in apps) + f" | {counted[name]} |")
    lines += ["", "| category | kinds (incidents) | all |", "|---|---|---|"]
    for category, of in told.kinds.items():
        words = ", ".join(f"{kind} {sum(by.values())}" for kind, by in of.items())
        lines.append(f"| {category} | {words} | {sum(sum(by.values()) for by in of.values())} |")
    return "\n".join(lines)
