"""Import paths of earlier versions that plug-ins use: they work, and warn with the new path."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import ModuleType

MOVED = {"revelio.anomaly": "revelio.support.anomaly", "revelio.plugins": "revelio.catalog.plugins"}


class MovedModules(MetaPathFinder, Loader):
    """Finds a moved module under its old path, with the names of the new one."""

    def find_spec(self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """For an old path alone."""
        return spec_from_loader(fullname, self) if fullname in MOVED else None

    def exec_module(self, module: ModuleType) -> None:
        """Take the names over."""
        new = MOVED[module.__name__]
        warnings.warn(f"{module.__name__} is now {new}", DeprecationWarning, stacklevel=2)
        vars(module).update({name: value for name, value in vars(import_module(new)).items() if not name.startswith("__")})


def find_moved_modules() -> None:
    """From now on, old paths can be imported."""
    if not any(isinstance(finder, MovedModules) for finder in sys.meta_path):
        sys.meta_path.append(MovedModules())
