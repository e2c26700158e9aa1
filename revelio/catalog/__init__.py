"""What can be asked: tools and their query templates, as YAML files that anyone can extend."""

from revelio.catalog.loader import bundled_catalog, load_catalog
from revelio.catalog.products import Product
from revelio.catalog.specs import Catalog, Metric, ResultForm, ToolSpec

__all__ = ["Catalog", "Metric", "Product", "ResultForm", "ToolSpec", "bundled_catalog", "load_catalog"]
