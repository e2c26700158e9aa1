"""A campaign's plan (YAML) and the runs that it expands to, in a random but repeatable order."""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fault_injection.apps import app_named
from fault_injection.kinds import kind_named
from fault_injection.spec import Fault
from revelio.errors import InvalidInputError, RevelioError

Split = Literal["train", "repeat", "new_location", "no_fault"]


class FaultPlan(BaseModel):
    """Runs of one kind: ``train`` runs for each place and strength, ``repeat`` runs for each place, and so on."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    kind: str
    places: tuple[str, ...] = Field(min_length=1, description="Places that training sees")
    held_out: tuple[str, ...] = Field((), description="Places that only the new_location split sees")
    strengths: tuple[str, ...] = Field(min_length=1)
    train: int = Field(1, ge=0, description="Training runs for each place and strength")
    repeat: int = Field(0, ge=0, description="Test runs for each place")
    new_location: int = Field(0, ge=0, description="Test runs for each held-out place and strength")


class ControlPlan(BaseModel):
    """Runs of one control, over its places and strengths in turn."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    kind: str
    train: int = Field(0, ge=0)
    no_fault: int = Field(0, ge=0)


class Plan(BaseModel):
    """What a campaign records."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    app: str
    seed: int = 1
    baseline_s: float = Field(18.0, gt=0, le=300, description="Healthy seconds before each fault")
    window_s: float = Field(18.0, gt=0, le=300, description="Seconds from injection to the report")
    faults: tuple[FaultPlan, ...] = ()
    controls: tuple[ControlPlan, ...] = ()

    @property
    def digest(self) -> str:
        """12 hex digits that change when anything in the plan does."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class Run:
    """One planned run. Its id tells nothing about its fault."""

    id: str
    fault: Fault
    split: Split


def load_plan(path: Path) -> Plan:
    """Read and check a plan; ``InvalidInputError`` names the entry that is wrong."""
    try:
        plan = Plan.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
        expand(plan)
    except (OSError, yaml.YAMLError) as error:
        raise InvalidInputError(f"{path}: cannot be read: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        raise InvalidInputError(f"{path}: {'.'.join(map(str, first['loc'])) or 'plan'}: {first['msg']}") from error
    except RevelioError as error:
        raise InvalidInputError(f"{path}: {error}") from error
    return plan


def expand(plan: Plan) -> tuple[Run, ...]:
    """Every run in the order in which it is made. ``FaultError`` when a kind, place or strength does not exist."""
    app = app_named(plan.app)
    rng = random.Random(plan.seed)
    wanted: list[tuple[Fault, Split]] = []
    for entry in plan.faults:
        both = set(entry.places) & set(entry.held_out)
        if both:
            raise InvalidInputError(f"{entry.kind}: {', '.join(sorted(both))} is both trained on and held out")
        wanted += _fault_runs(entry, rng)
    for control in plan.controls:
        wanted += _control_runs(control, plan.app, rng)
    for fault, _ in wanted:
        kind_named(fault.kind).validate(app, fault)
    runs = [Run(_run_id(plan, index), fault, split) for index, (fault, split) in enumerate(wanted)]
    rng.shuffle(runs)
    return tuple(runs)


def _fault_runs(entry: FaultPlan, rng: random.Random) -> list[tuple[Fault, Split]]:
    def fault(place: str, strength: str) -> Fault:
        return Fault(entry.kind, place, strength, rng.randrange(1000))

    runs: list[tuple[Fault, Split]] = []
    for turn, place in enumerate(entry.places):
        for strength in entry.strengths:
            runs += [(fault(place, strength), "train") for _ in range(entry.train)]
        for again in range(entry.repeat):
            runs.append((fault(place, entry.strengths[(turn + again) % len(entry.strengths)]), "repeat"))
    for place in entry.held_out:
        for strength in entry.strengths:
            runs += [(fault(place, strength), "new_location") for _ in range(entry.new_location)]
    return runs


def _control_runs(control: ControlPlan, app: str, rng: random.Random) -> list[tuple[Fault, Split]]:
    kind = kind_named(control.kind)
    forms = [(place, strength) for place in kind.places(app_named(app)) for strength in kind.strengths]
    runs: list[tuple[Fault, Split]] = []
    for index in range(control.train + control.no_fault):
        split: Split = "train" if index < control.train else "no_fault"
        place, strength = forms[index % len(forms)]
        runs.append((Fault(control.kind, place, strength, rng.randrange(1000)), split))
    return runs


def _run_id(plan: Plan, index: int) -> str:
    return f"{plan.app}-{hashlib.sha256(f'{plan.app}/{plan.seed}/{index}'.encode()).hexdigest()[:10]}"
