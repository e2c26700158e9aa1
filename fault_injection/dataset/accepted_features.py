"""Which features of an injected fault a real one would leave too: ``leakage_features.yaml``, with the reason for each."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from fault_injection.kinds import kinds
from fault_injection.yaml_file import read_yaml
from revelio.errors import InvalidInputError

FEATURES = Path(__file__).with_name("leakage_features.yaml")
Real = Literal["yes", "partly", "no"]


class Discussed(BaseModel):
    """Features (a shell pattern over the names of ``leakage_features.py``), whether a real fault leaves them, and why."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    feature: str
    real: Real
    because: str


class Mechanism(BaseModel):
    """What is done to make faults of some kinds, and the features that it leaves in all of them."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    does: str
    kinds: tuple[str, ...] = ()
    features: tuple[Discussed, ...] = ()


class AcceptedFeatures(BaseModel):
    """The whole file."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    everywhere: tuple[Discussed, ...] = ()
    mechanisms: dict[str, Mechanism] = {}
    kinds: dict[str, tuple[Discussed, ...]] = {}

    def mechanism_of(self, kind: str) -> str:
        """The mechanism that a kind is listed under; empty when under none."""
        return next((name for name, mechanism in self.mechanisms.items() if kind in mechanism.kinds), "")

    def of_kind(self, kind: str, feature: str) -> Discussed | None:
        """What is said of a feature of that kind: by itself, by its mechanism, then everywhere; None when nothing is."""
        mechanism = self.mechanisms.get(self.mechanism_of(kind))
        return _first(feature, (*self.kinds.get(kind, ()), *(mechanism.features if mechanism else ()), *self.everywhere))

    def of_mechanism(self, name: str, feature: str) -> Discussed | None:
        """What is said of a feature of that mechanism: by itself, by one of its kinds, then everywhere."""
        mechanism = self.mechanisms[name]
        by_kind = (entry for kind in mechanism.kinds for entry in self.kinds.get(kind, ()))
        return _first(feature, (*mechanism.features, *by_kind, *self.everywhere))


def load_accepted_features(path: Path = FEATURES) -> AcceptedFeatures:
    """The file's content; ``InvalidInputError`` names what is wrong in it, a kind that there is not among that."""
    parsed = read_yaml(path, AcceptedFeatures)
    if unknown := sorted(set(parsed.kinds) - {kind.name for kind in kinds()}):
        raise InvalidInputError(f"{path}: no fault kind {', '.join(unknown)}")
    if missing := sorted({kind.mechanism for kind in kinds() if kind.mechanism} - set(parsed.mechanisms)):
        raise InvalidInputError(f"{path}: does not say what {', '.join(missing)} does")
    made_by = {name: tuple(kind.name for kind in kinds() if kind.mechanism == name) for name in parsed.mechanisms}
    mechanisms = {name: mechanism.model_copy(update={"kinds": made_by[name]}) for name, mechanism in parsed.mechanisms.items()}
    return parsed.model_copy(update={"mechanisms": mechanisms})


def _first(feature: str, entries: Iterable[Discussed]) -> Discussed | None:
    return next((entry for entry in entries if fnmatchcase(feature, entry.feature)), None)
