"""Datasets and their catalogs, as several verbs take them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from revelio.catalog import Catalog

BUNDLED = "bundled"
"""Names the bundled catalog in place of a file."""


def with_catalogs(datasets: list[Path], catalogs: list[Path] | None) -> list[tuple[Path, Catalog | None]]:
    """Each dataset with its catalog; None where the dataset brings one or none was given.

    All catalog files belong to a single dataset. Of several datasets each takes one, in the order given.
    """
    from revelio.catalog import bundled_catalog, load_catalog

    def load(*files: Path) -> Catalog:
        return bundled_catalog() if str(files[0]) == BUNDLED else load_catalog(*files)

    if not catalogs:
        return [(folder, None) for folder in datasets]
    if len(datasets) == 1:
        return [(datasets[0], load(*catalogs))]
    if len(catalogs) != len(datasets):
        raise typer.BadParameter(
            f"{len(datasets)} datasets and {len(catalogs)} catalogs: give each --dataset its --catalog, in the same order "
            f"(`--catalog {BUNDLED}` is the bundled one), or put a catalog.yaml into each dataset folder"
        )
    return [(folder, load(file)) for folder, file in zip(datasets, catalogs, strict=True)]
