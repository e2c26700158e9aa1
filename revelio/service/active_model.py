"""The catalog and the model version that answers now."""

from __future__ import annotations

import logging
import threading

from revelio.catalog import Catalog
from revelio.catalog.imports.files import mark, with_imports
from revelio.catalog.plugins import own_catalog
from revelio.errors import ArtifactError, NotFoundError
from revelio.ranker.artifact import load_manifest
from revelio.ranker.recommender import Recommender, load_recommender
from revelio.ranker.versions import Versions, pointer_mark
from revelio.settings import Settings

log = logging.getLogger(__name__)


class ActiveModel:
    """Loads the model when it is first needed and follows changes of the active version. Safe to share between threads."""

    def __init__(self, settings: Settings, *, recommender: Recommender | None = None) -> None:
        """Nothing is loaded yet. A given ``recommender`` answers instead of the model of the settings."""
        self._settings = settings
        self._recommender = recommender
        self._given = recommender is not None
        self._mark: tuple[int, int] | None = None
        self._version_trouble = ""
        self._catalog: Catalog | None = None
        self._imported: tuple[tuple[str, int], ...] = ()
        self._lock = threading.RLock()

    @property
    def catalog(self) -> Catalog:
        """The catalog of the settings; ``CatalogError`` when one of its files is wrong."""
        with self._lock:
            imported = mark(self._settings.imports.folder)
            if self._catalog is None or imported != self._imported:
                own = own_catalog(self._settings)
                self._catalog, troubles = with_imports(own, self._settings.imports.folder)
                self._imported = imported
                for trouble in troubles:
                    log.warning("%s", trouble)
            return self._catalog

    @property
    def recommender(self) -> Recommender:
        """The loaded model in its active version; ``ArtifactError`` each time that it cannot be loaded.

        When any process activates another version, the next request uses it.
        """
        with self._lock:
            if self._given and self._recommender is not None:
                return self._recommender
            version, catalog = pointer_mark(self._settings.learning.folder), self.catalog
            if self._recommender is not None and self._recommender.catalog is not catalog:
                self._recommender = None
            if self._recommender is None or version != self._mark:
                loaded = self._recommender or load_recommender(self._settings.model, catalog)
                self._recommender, self._version_trouble = self._activate(loaded)
                self._mark = version
            return self._recommender

    @property
    def version_trouble(self) -> str:
        """Why the base model answers instead of the chosen version; "" when the chosen version answers."""
        return self._version_trouble

    def versions(self) -> Versions:
        """The versions of the model; ``ArtifactError`` when the base model cannot be read."""
        return Versions(self._settings.learning.folder, load_manifest(self._settings.model))

    def _activate(self, loaded: Recommender) -> tuple[Recommender, str]:
        """A learned head is an addition: when it is damaged the base model answers, and the trouble is reported."""
        versions = self.versions()
        name = versions.current()
        try:
            head, trouble = versions.head(name), ""
        except (ArtifactError, NotFoundError) as error:
            name, head, trouble = versions.base.name, None, str(error)
            log.warning("the model %s answers without its learned head: %s", name, error)
        return loaded.with_head(head, name), trouble
