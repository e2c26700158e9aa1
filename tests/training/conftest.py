"""The same small made-up system as the ranker's tests."""

from tests.ranker.conftest import catalog, catalog_file, incidents, model, write_dataset

__all__ = ["catalog", "catalog_file", "incidents", "model", "write_dataset"]
