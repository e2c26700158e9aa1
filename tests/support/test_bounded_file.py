"""What a person hands in is read within limits, and a file that is damaged, huge or a bomb is a clear sentence at once."""

from __future__ import annotations

import json
import lzma
import math
import shutil
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from revelio.catalog import bundled_catalog, load_catalog
from revelio.errors import ArtifactError, CatalogError, DatasetError, InvalidInputError
from revelio.ranker.artifact import MANIFEST, NULL_DISTRIBUTIONS, RANKER_WEIGHTS, TEXTS, load_manifest, load_ranker, save_manifest
from revelio.ranker.recommender import Recommender
from revelio.service.pipeline import answer_incident
from revelio.settings import BUNDLED, load_settings
from revelio.support.bounded_file import MOST_SETTINGS, OversizedError, lines_of, read_bounded
from revelio.systems.incidents.exchange import MOST_BLANK, dump_record, parse_record, read_records
from tests.systems.incidents.made import record

TOOL = "tool: queues\ntitle: Queues\n"
GOOD = TOOL + "templates:\n  - {id: queues.one, title: One, body: x}\n"

LAUGHS = "a: &a [x]\n" + "".join(f"{b}: &{b} [{', '.join(['*' + a] * 9)}]\n" for a, b in zip("abcdefg", "bcdefgh", strict=True))


@pytest.fixture
def little_memory() -> Iterator[None]:
    """Fails when more than 60 MB were held at a time, and when it took longer than a person waits."""
    tracemalloc.start()
    began = time.process_time()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < 60e6
        assert time.process_time() - began < 60.0
    finally:
        tracemalloc.stop()


def test_a_file_is_read_up_to_its_limit(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    assert read_bounded(tmp_path / "a", 5) == b"12345"
    with pytest.raises(OversizedError, match="is this the right file"):
        read_bounded(tmp_path / "a", 4)
    with pytest.raises(OversizedError):
        read_bounded(Path("/dev/zero"))


@pytest.mark.parametrize("text", [b"", b"a", b"a\n", b"a\nb", b"\n\nb\n", b"x" * 300_000 + b"\ny"])
def test_lines_are_those_of_the_file_compressed_or_not(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "a.jsonl").write_bytes(text)
    (tmp_path / "a.jsonl.xz").write_bytes(lzma.compress(text) + lzma.compress(b"\nz") + b"\0" * 4)
    expected = [line.rstrip(b"\n") for line in text.splitlines(keepends=True)]
    with (tmp_path / "a.jsonl").open("rb") as file:
        assert list(lines_of(file, False, 1_000_000, 1_000_000)) == expected
    both = [line.rstrip(b"\n") for line in (text + b"\nz").splitlines(keepends=True)]
    with (tmp_path / "a.jsonl.xz").open("rb") as file:
        assert list(lines_of(file, True, 1_000_000, 1_000_000)) == both


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize(
    ("unit", "says"), [(b" ", "a line of more than 8 MB"), (b"\n", f"more than {MOST_BLANK} empty lines"), (b"[", "a line of")]
)
def test_an_incident_file_that_is_a_bomb_is_refused(tmp_path: Path, unit: bytes, says: str) -> None:
    packer = lzma.LZMACompressor(preset=0)
    packed = b"".join(packer.compress(unit * 1_000_000) for _ in range(200)) + packer.flush()
    (tmp_path / "a.jsonl.xz").write_bytes(packed)
    with pytest.raises(DatasetError, match=says):
        list(read_records(tmp_path / "a.jsonl.xz"))


def test_an_incident_file_may_not_ask_for_a_large_dictionary(tmp_path: Path) -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 28}]
    (tmp_path / "a.jsonl.xz").write_bytes(lzma.compress(b"{}\n", filters=filters))
    with pytest.raises(DatasetError, match="cannot be read"):
        list(read_records(tmp_path / "a.jsonl.xz"))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"times":[', '"times":[NaN,', "not a number"),
        ('"times":[', '"times":[1e999,', "not a number"),
        ('"opened_at":', '"opened_at":1e300,"was":', "Unexpected|between 1970 and 9999|was"),
        ('"end":', '"end":1e18,"x":', "between 1970|x"),
    ],
)
def test_an_incident_with_a_figure_or_a_time_that_is_none_is_refused(old: str, new: str, says: str) -> None:
    line = dump_record(record("a")).decode()
    assert old in line
    with pytest.raises(DatasetError, match=says):
        parse_record(line.replace(old, new, 1), "a:1")


def test_a_value_of_a_series_can_be_missing() -> None:
    line = dump_record(record("a")).decode()
    begin = line.index('"values":[') + len('"values":[')
    read = parse_record(line[:begin] + "NaN" + line[line.index(",", begin) :], "a:1")
    assert any(math.isnan(v) for s in read.evidence.series for v in s.values)


def test_an_incident_of_a_year_without_calendar_is_refused() -> None:
    whole = json.loads(dump_record(record("a")))
    with pytest.raises(DatasetError, match="between 1970 and 9999"):
        parse_record(json.dumps(whole | {"opened_at": 1e300}), "a:1")


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize(
    ("text", "says"),
    [
        (GOOD + "#" * 50_000_000, "larger than"),
        (TOOL + "templates: " + "[" * 20_000, "nested too deeply"),
        (TOOL + "templates: " + "{a: " * 20_000, "nested too deeply"),
        (TOOL + LAUGHS, "values"),
        (GOOD + "about: 2026-13-45\n", "not valid YAML"),
        (GOOD + f"about: {'9' * 5000}\n", "not valid YAML|valid string"),
        (TOOL + "metrics: {m: {query: x, entity: e, label: l, noise: .nan}}\ntemplates: []\n", "finite"),
        (TOOL + "metrics: {m: {query: x, entity: e, label: l, noise: 1.0e+999}}\ntemplates: []\n", "finite"),
        (GOOD + "\x00", "not valid YAML"),
    ],
    ids=["50 MB", "lists", "mappings", "aliases", "date", "number", "nan", "inf", "NUL"],
)  # fmt: skip
def test_a_catalog_that_is_none_is_a_clear_sentence(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "c.yaml").write_text(text)
    with pytest.raises(CatalogError, match=says) as caught:
        load_catalog(tmp_path / "c.yaml")
    assert str(caught.value).startswith(f"{tmp_path}/c.yaml:")


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("where", ["revelio.toml", "var/systems.d/x.toml"])
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("#" * (MOST_SETTINGS + 1), "larger than"),
        ("port = " + "[" * 20_000, "nested too deeply|cannot be read"),
        ("port = 2026-13-45", "cannot be read"),
        ("port = " + "9" * 5000, "cannot be read|port"),
        ("a = \udcff", "cannot be read"),
    ],
    ids=["large", "nested", "date", "number", "no text"],
)
def test_settings_that_are_none_are_a_clear_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, text: str, says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / where
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(InvalidInputError, match=says):
        load_settings()


@pytest.mark.parametrize("figure", ["nan", "inf", "1e300"])
@pytest.mark.parametrize("name", ["timeout_s", "keep_days"])
def test_a_setting_that_is_no_figure_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, figure: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "revelio.toml").write_text(f"{name} = {figure}\n")
    with pytest.raises(InvalidInputError, match=f"setting {name}"):
        load_settings()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the bundled model."""
    return Path(shutil.copytree(BUNDLED / "model", tmp_path / "model"))


def test_a_model_folder_with_a_figure_that_is_none_is_refused(folder: Path) -> None:
    manifest = load_manifest(folder)
    vectors = load_file(folder / TEXTS)["vectors"]
    vectors[0, 0] = np.nan
    save_file({"vectors": vectors}, folder / TEXTS, {"texts": json.dumps([str(i) for i in range(len(vectors))])})
    save_manifest(folder, manifest)
    with pytest.raises(ArtifactError, match=f"{TEXTS}: damaged.*not numbers"):
        load_ranker(folder)
    (folder / TEXTS).write_bytes((BUNDLED / "model" / TEXTS).read_bytes())
    nulls = (folder / NULL_DISTRIBUTIONS).read_text()
    (folder / NULL_DISTRIBUTIONS).write_text('{"a": [1, [NaN]],' + nulls.lstrip()[1:])
    save_manifest(folder, manifest)
    with pytest.raises(ArtifactError, match=f"{NULL_DISTRIBUTIONS}: damaged.*finite"):
        load_ranker(folder)
    words = (folder / MANIFEST).read_text()
    (folder / MANIFEST).write_text(words.replace('"abstain_slope":', '"abstain_slope": NaN, "was":'))
    with pytest.raises(ArtifactError, match=f"{MANIFEST}: damaged"):
        load_manifest(folder)


def test_a_network_with_a_figure_that_is_none_answers_nothing(folder: Path) -> None:
    onnx = pytest.importorskip("onnx")
    network = onnx.load(folder / RANKER_WEIGHTS)
    for weights in network.graph.initializer:
        if weights.data_type == onnx.TensorProto.FLOAT and weights.raw_data:
            weights.raw_data = np.full(len(weights.raw_data) // 4, np.nan, dtype=np.float32).tobytes()
    onnx.save(network, folder / RANKER_WEIGHTS)
    save_manifest(folder, load_manifest(folder))
    catalog = bundled_catalog()
    incident = next(iter(read_records(next(iter(sorted((BUNDLED / "incidents").iterdir())))))).incident("slow")
    with pytest.raises(ArtifactError, match="not numbers"):
        answer_incident(incident, Recommender(load_ranker(folder, catalog), catalog), 3)
