"""Keeps profiles, in memory and on disk, and finds them out again when they are old."""

from __future__ import annotations

import hashlib
import logging
import re
import threading
import time
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from revelio.catalog.conventions import Profile
from revelio.errors import SourceError
from revelio.settings import Backend
from revelio.tools.discovery.prometheus import PrometheusApi, discover

REFRESH_S = 600.0
"""How long a profile holds, in seconds; what is deployed meanwhile is seen afterwards."""

EMPTY_S = 30.0
"""How long one holds that found nothing: a Prometheus that has just started fills up."""

log = logging.getLogger(__name__)
_PROFILE = TypeAdapter(Profile)


class Profiles:
    """The profiles of the systems that one Prometheus watches, by project. Safe to share between threads."""

    def __init__(self, backend: Backend) -> None:
        """Reads and writes below the folder that the backend's settings name."""
        self._settings = backend.profile
        told = f"{backend.url} {backend.profile.model_dump_json(exclude={'folder'})}"
        self._mark = hashlib.sha256(told.encode()).hexdigest()[:8]
        self._known: dict[str, Profile] = {}
        self._lock = threading.Lock()

    def known(self, project: str) -> Profile | None:
        """What was found last, however old; None where nothing was."""
        if project not in self._known:
            found = self._read(project)
            if found is not None:
                self._known.setdefault(project, found)
        return self._known.get(project)

    def current(self, project: str, ask: PrometheusApi, *, refresh: bool = False) -> Profile:
        """A profile that is not old, found out where there is none; ``SourceError`` when that fails and none is known."""
        with self._lock:
            known = self.known(project)
            holds = known is not None and time.time() - known.found_at < (REFRESH_S if known.uses else EMPTY_S)
            if known is not None and holds and not refresh:
                return known
            try:
                found = discover(ask, self._settings, project, time.time())
            except SourceError:
                if known is None or refresh:
                    raise
                return known
            self._known[project] = found
            self._write(project, found)
            return found

    def _path(self, project: str) -> Path:
        return self._settings.folder / f"{re.sub(r'[^A-Za-z0-9_.-]', '_', project)[:60]}-{self._mark}.json"

    def _read(self, project: str) -> Profile | None:
        try:
            return _PROFILE.validate_json(self._path(project).read_bytes())
        except (OSError, ValidationError):
            return None

    def _write(self, project: str, profile: Profile) -> None:
        path = self._path(project)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            waiting = path.with_suffix(f".{threading.get_ident()}")
            waiting.write_bytes(_PROFILE.dump_json(profile, indent=1))
            waiting.replace(path)
        except OSError as error:
            log.warning("the profile of %s is not kept: %s", project, error)
