"""Similar past incidents on the page of an answer: those of its system first."""

from __future__ import annotations

from revelio.service import Service
from revelio.service.similar_incidents import SimilarIncident
from revelio.store import SavedAnswer

_SHOWN, _OTHERS = 3, 2


def similar(service: Service, saved: SavedAnswer) -> tuple[SimilarIncident, ...]:
    """At most three of the same system, then at most two of other systems; each most similar first."""
    return service.similar(saved, _SHOWN, "system") + service.similar(saved, _OTHERS, "others")
