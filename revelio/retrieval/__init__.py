"""What is nearest to a question: past incidents, imported questions, and the candidates of large fleets.

``VectorIndex`` is the interface; faiss is its engine within the process, Elasticsearch the one that several servers share.
"""

from revelio.retrieval.incident_vectors import IncidentVectors
from revelio.retrieval.index import Hit, Item, VectorIndex

__all__ = ["Hit", "IncidentVectors", "Item", "VectorIndex"]
