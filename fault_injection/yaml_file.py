"""A YAML file read as a Pydantic model; an error names the file and the entry."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from revelio.errors import InvalidInputError
from revelio.support.bounded_file import read_bounded

Model = TypeVar("Model", bound=BaseModel)


def read_yaml(path: Path, model: type[Model]) -> Model:
    """The file's content, an empty file being an empty mapping; ``InvalidInputError`` names the first entry that is wrong."""
    try:
        return model.model_validate(yaml.safe_load(read_bounded(path).decode("utf-8")) or {})
    except RecursionError as error:
        raise InvalidInputError(f"{path}: nested too deeply") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise InvalidInputError(f"{path}: {where + ': ' if where else ''}{first['msg']}") from error
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise InvalidInputError(f"{path}: cannot be read: {error}") from error
