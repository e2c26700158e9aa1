"""What can be asked: tools and their query templates, as YAML files that anyone can extend."""

from revelio.catalog.loader import Catalog, Metric, ResultForm, ToolSpec, bundled_catalog, load_catalog

__all__ = ["Catalog", "Metric", "ResultForm", "ToolSpec", "bundled_catalog", "load_catalog"]
