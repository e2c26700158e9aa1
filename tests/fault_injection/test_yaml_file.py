"""What is wrong in a YAML file is told with the file and the entry."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import BaseModel

from fault_injection.yaml_file import read_yaml
from revelio.errors import InvalidInputError


class Shelf(BaseModel):
    books: int = 0


def test_an_empty_file_has_all_defaults(tmp_path: Path) -> None:
    (tmp_path / "shelf.yaml").write_text("")
    assert read_yaml(tmp_path / "shelf.yaml", Shelf) == Shelf()


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"books: many", "books: Input should be"), (b"books: [", "cannot be read"), (b"\xff\xfe\x00", "cannot be")],
)
def test_what_is_wrong_is_told_with_file_and_entry(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "shelf.yaml"
    path.write_bytes(content)
    with pytest.raises(InvalidInputError, match=rf"shelf\.yaml: {message}"):
        read_yaml(path, Shelf)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"none\.yaml: cannot be read"):
        read_yaml(tmp_path / "none.yaml", Shelf)
