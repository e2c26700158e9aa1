"""The incident exchange format: JSON Lines, one record a line, plain or xz-compressed.

The format is the dataclasses below, read and written by Pydantic; ``json_schema()`` is its published schema. Unknown
fields are refused, so that a misspelt one is an error and not a silent loss.

A file whose records have candidates begins with a line of their templates, which the candidates name by id.
"""

from __future__ import annotations

import json
import lzma
import math
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, Literal

from pydantic import ConfigDict, TypeAdapter, ValidationError

from revelio.errors import DatasetError
from revelio.support.bounded_file import OversizedError, lines_of
from revelio.systems.incidents.files import IncidentFiles
from revelio.systems.incidents.shared_templates import (
    dump_templates,
    first_error,
    is_templates_line,
    reference,
    resolved,
    templates_line,
)
from revelio.systems.incidents.untyped_results import typed
from revelio.types import Evidence, Incident, Query, QueryTemplate, RecordedResult

FORMAT = "revelio.incident/1"
MOST_LINE, MOST_FILE, MOST_BLANK = 8_000_000, 1_000_000_000, 1_000
"""Bytes of one incident and of one file after decompression, and empty lines: the largest recorded incident has 1.4 MB."""

_SELDOM = ("earlier", "history")
"""Fields that are left out where they are empty, as they mostly are."""

_LATEST = 253_402_300_800.0
"""The year 10000, in Unix seconds: no calendar goes further."""


@dataclass(frozen=True, slots=True)
class Report:
    """One text that a user wrote about the incident, with its author and the symptom cell it was written for."""

    text: str
    writer: str = ""
    cell: str = ""


@dataclass(frozen=True, slots=True)
class Label:
    """An accepted query. Grade 3 shows the cause, 2 shows it from elsewhere, 1 shows the affected place.

    ``signal`` and ``baseline_signal`` are what executing it gave in the incident and in health; None when never executed.
    """

    template: str
    bindings: tuple[tuple[str, str], ...]
    grade: Literal[1, 2, 3]
    signal: float | None = None
    baseline_signal: float | None = None
    proven: bool = True


@dataclass(frozen=True, slots=True)
class FaultRecord:
    """What was injected, for grouping and splitting only: no encoder ever sees it."""

    kind: str
    category: str
    place: str
    strength: str
    parameters: tuple[tuple[str, str | float], ...] = ()
    verified_by: str = ""


@dataclass(frozen=True, slots=True)
class Note:
    """What one visit of a probe user to one feature looked like from outside."""

    at: float
    feature: str
    outcome: str
    seconds: float
    status: int | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Record:
    """One line of the exchange format: what was seen, and, for labelled data, what was true."""

    id: str
    system: str
    opened_at: float
    evidence: Evidence
    reports: tuple[Report, ...] = ()
    candidates: tuple[Query, ...] = ()
    results: tuple[RecordedResult, ...] = ()
    notes: tuple[Note, ...] = ()
    labels: tuple[Label, ...] = ()
    fault: FaultRecord | None = None
    split: str = ""
    catalog: str = ""
    run: str = ""
    """The run that it was recorded in with other incidents, which share its evidence; empty where it is alone."""
    noise: tuple[FaultRecord, ...] = ()
    """What went on around it through baseline and window, which is normal and the cause of nothing."""
    format: str = field(default=FORMAT)

    __pydantic_config__ = ConfigDict(extra="forbid", allow_inf_nan=False, defer_build=True)

    def incident(self, report: str | None = None) -> Incident:
        """The part that serving code may see. Without ``report`` the first recorded text is taken ("" when none)."""
        text = report if report is not None else (self.reports[0].text if self.reports else "")
        return Incident(self.id, self.system, text, self.opened_at, self.evidence, self.candidates)


@dataclass(frozen=True, slots=True)
class Heading:
    """The parts of a record that a list of incidents shows: read in a tenth of the time of the whole."""

    id: str
    system: str
    opened_at: float
    reports: tuple[Report, ...] = ()

    __pydantic_config__ = ConfigDict(extra="ignore", allow_inf_nan=False)


_RECORD, _HEADING = TypeAdapter(Record), TypeAdapter(Heading)


def json_schema() -> dict[str, Any]:
    """The JSON Schema of one record; in a file with a line of templates, ``template`` of a candidate can be an id."""
    schema = _RECORD.json_schema()
    template = schema["$defs"]["Query"]["properties"]["template"]
    by_id = {"type": "string", "description": "Id of a template in the line of templates of the file"}
    schema["$defs"]["Query"]["properties"]["template"] = {"anyOf": [template, by_id]}
    return schema


def parse_record(line: str | bytes, where: str, templates: Mapping[str, QueryTemplate] | None = None) -> Record:
    """One line as a record; ``DatasetError`` starting with ``where`` when it is not one.

    ``templates`` are those that candidates can name by id.
    """
    try:
        record = _RECORD.validate_python(resolved(line, where, templates)) if templates else _RECORD.validate_json(line)
    except ValidationError as error:
        raise DatasetError(f"{where}: {first_error(error)}") from error
    if record.format != FORMAT:
        raise DatasetError(f"{where}: format is {record.format!r}, this version reads {FORMAT!r}")
    seen = record.evidence
    moments = (record.opened_at, seen.window.start, seen.window.end, seen.baseline.start, seen.baseline.end)
    if not all(0.0 <= moment < _LATEST for moment in moments):
        raise DatasetError(f"{where}: a time is not between 1970 and 9999; times are in Unix seconds")
    for series in record.evidence.series:
        if not all(map(math.isfinite, series.times)):
            raise DatasetError(f"{where}: series {series.metric} of {series.entity.name}: a time is not a number")
        if len(series.times) != len(series.values):
            raise DatasetError(f"{where}: series {series.metric} of {series.entity.name}: times and values differ in length")
    return replace(record, results=tuple(replace(r, result=typed(r.result)) for r in record.results))


def read_records(path: Path) -> Iterator[Record]:
    """Every record of a file, or of a folder's files (packed ones among them) in the order of their names."""
    if path.is_dir():
        files = IncidentFiles(path)
        for name in files.names():
            yield from records_of(files, name)
    elif path.is_file():
        yield from _records(path.open("rb"), path)
    else:
        raise DatasetError(f"{path}: no such file or folder of incidents")


def records_of(files: IncidentFiles, name: str) -> Iterator[Record]:
    """Every record of one file of a folder; ``DatasetError`` where it cannot be read."""
    yield from _records(_opened(files, name), files.folder / name)


def headings_of(files: IncidentFiles, name: str) -> Iterator[Heading]:
    """The heading of every record of one file of a folder; ``DatasetError`` where it has none.

    What else is wrong with a record stays unnoticed until it is read.
    """
    for line, where in _lines_in(_opened(files, name), files.folder / name):
        if not is_templates_line(line):
            try:
                yield _HEADING.validate_json(line)
            except ValidationError as error:
                raise DatasetError(f"{where}: {first_error(error)}") from error


def _opened(files: IncidentFiles, name: str) -> BinaryIO:
    try:
        return files.open(name)
    except OSError as error:
        raise DatasetError(f"{files.folder / name}: cannot be read: {error}") from error


def _records(file: BinaryIO, path: Path) -> Iterator[Record]:
    templates: dict[str, QueryTemplate] = {}
    for line, where in _lines_in(file, path):
        if is_templates_line(line):
            templates |= templates_line(line, where)
        else:
            yield parse_record(line, where, templates)


def _lines_in(file: BinaryIO, path: Path) -> Iterator[tuple[bytes, str]]:
    """Every line that is not empty, and where it stands."""
    blank = 0
    try:
        with file:
            for number, line in enumerate(lines_of(file, path.suffix == ".xz", MOST_LINE, MOST_FILE), 1):
                if line.strip():
                    yield line, f"{path}:{number}"
                elif (blank := blank + 1) > MOST_BLANK:
                    raise DatasetError(f"{path}: has more than {MOST_BLANK} empty lines; is it JSON Lines, one incident a line?")
    except (OSError, EOFError, OversizedError, lzma.LZMAError) as error:
        raise DatasetError(f"{path}: cannot be read: {error}") from error


def dump_record(record: Record) -> bytes:
    """A record as one line of JSON, figures rounded to 5 significant digits (times to the millisecond)."""
    return _dumped(_RECORD.dump_python(record, mode="json"))


def _dumped(value: Any) -> bytes:
    return json.dumps(_compact(value), separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def _dumped_lines(records: Iterable[Record]) -> Iterator[bytes]:
    """The lines of a file. Templates of candidates come first and once; the second of two with one id is written in place."""
    records = tuple(records)
    shared: dict[str, QueryTemplate] = {}
    for query in (q for r in records for q in r.candidates):
        shared.setdefault(query.template.id, query.template)
    if shared:
        yield _dumped(dump_templates(shared.values()))
    for record in records:
        candidates = [{"template": reference(q.template, shared), "bindings": q.bindings} for q in record.candidates]
        yield _dumped(_RECORD.dump_python(replace(record, candidates=()), mode="json") | {"candidates": candidates})


def write_records(path: Path, records: Iterable[Record]) -> None:
    """Write all records to a file, compressed when its name ends in ``.xz``; the file appears whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = b"".join(_dumped_lines(records))
    if path.suffix == ".xz":
        data = lzma.compress(data, preset=6)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".writing-")
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    Path(name).chmod(0o644)
    Path(name).replace(path)


def _compact(value: Any) -> Any:
    if isinstance(value, float):
        if abs(value) >= 1e8:
            return round(value, 3)
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {k: _compact(v) for k, v in value.items() if v or k not in _SELDOM}
    if isinstance(value, (list, tuple)):
        return [_compact(v) for v in value]
    return value
