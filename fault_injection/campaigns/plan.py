"""A campaign's plan (YAML) and the runs that it expands to, in a random but repeatable order."""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from fault_injection.apps import App, app_named
from fault_injection.campaigns.noise import Noise
from fault_injection.campaigns.pairs import Pair, draw_pairs
from fault_injection.kinds import kind_named
from fault_injection.spec import Category, Fault, FaultKind
from fault_injection.yaml_file import read_yaml
from revelio.errors import InvalidInputError, RevelioError

Split = Literal["train", "repeat", "new_location", "new_fault", "new_app", "no_fault"]
ON_SEEN_PLACES: tuple[Split, ...] = ("train", "repeat", "new_fault", "new_app")
Form = tuple[str, str]
"""A place and a strength."""
CONTROL_SPLITS: tuple[Split, ...] = ("train", "no_fault")


class Share(BaseModel):
    """How many runs each split gets."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    train: int = Field(0, ge=0)
    repeat: int = Field(0, ge=0, description="Test runs of what training has seen")
    new_location: int = Field(0, ge=0, description="Test runs at held-out places; none where no place is held out")
    new_fault: int = Field(0, ge=0, description="Test runs of a kind that nothing is trained on")
    new_app: int = Field(0, ge=0, description="Test runs in an application that nothing is trained on")
    no_fault: int = Field(0, ge=0, description="Test runs of a control")

    def of(self, split: Split) -> int:
        """That split's."""
        return int(getattr(self, split))


class FaultPlan(BaseModel):
    """Runs of one kind of fault, spread evenly over places and strengths."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    runs: Share | None = Field(None, description="Instead of the application's share for each kind")
    places: tuple[str, ...] = Field((), description="All that the kind has there but the held-out ones when empty")
    held_out: tuple[str, ...] = Field((), description="Places that only the new_location split sees")
    strengths: tuple[str, ...] = Field((), description="All of the kind's when empty")
    without: dict[str, tuple[str, ...]] = Field(
        {}, description="Strengths by place that are left out, all of them when empty; every other run stays as it was"
    )


class AppPlan(BaseModel):
    """Runs in one application."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    each: Share = Field(Share(), description="Runs of each kind that does not say otherwise")
    faults: dict[str, FaultPlan] = Field({}, description="By kind")
    controls: dict[str, Share] = Field({}, description="Runs of each control, over its places and strengths in turn")
    concurrent: Share = Field(Share(), description="Runs of two faults at once, which give two incidents each")


class NoisePlan(BaseModel):
    """What goes on around runs: noise, which is normal and no fault."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    share: float = Field(0.5, ge=0, le=1, description="Of all runs, controls among them")
    held_out: tuple[str, ...] = Field(
        (), description="Kinds that are never around a run of train; new_fault and new_app have no other"
    )


class Plan(BaseModel):
    """What a campaign records."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    seed: int = 1
    baseline_s: float = Field(18.0, gt=0, le=300, description="Healthy seconds before each fault")
    window_s: float = Field(18.0, gt=0, le=300, description="Seconds from injection to the report")
    held_pairings: tuple[tuple[Category, Category], ...] = Field(
        (), description="Categories whose faults are never active at once in training; new_fault has no other pairings"
    )
    noise: NoisePlan = Field(NoisePlan(share=0.0), description="What goes on around runs")
    fresh_every: int = Field(40, ge=0, description="Runs after which the stack is restarted; 0: never")
    apps: dict[str, AppPlan] = Field(min_length=1)

    @property
    def digest(self) -> str:
        """12 hex digits that change when anything in the plan does."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class Run:
    """One planned run. Its id tells nothing about its fault, and stays when others are added to the plan."""

    id: str
    app: str
    fault: Fault
    split: Split
    beside: Fault | None = None
    """A second fault, which begins once users have felt the first one for a whole window."""

    noise: Fault | None = None
    """What goes on around it from before the baseline until the end."""

    @property
    def faults(self) -> tuple[Fault, ...]:
        """In the order in which they begin."""
        return (self.fault,) if self.beside is None else (self.fault, self.beside)

    @property
    def incidents(self) -> tuple[str, ...]:
        """The id of the incident that each of its faults gives."""
        return (self.id,) if self.beside is None else (f"{self.id}a", f"{self.id}b")


def load_plan(path: Path) -> Plan:
    """Read and check a plan; ``InvalidInputError`` names the entry that is wrong."""
    plan = read_yaml(path, Plan)
    try:
        expand(plan)
    except RevelioError as error:
        raise InvalidInputError(f"{path}: {error}") from error
    return plan


def expand(plan: Plan) -> tuple[Run, ...]:
    """Every run, in the order in which each application's are made.

    ``FaultError`` when an application, kind, place or strength does not exist; ``InvalidInputError`` when something is
    both trained on and held out.
    """
    runs: list[Run] = []
    noise = Noise(plan.noise.held_out)
    trained = {kind for entry in plan.apps.values() for kind, each in entry.faults.items() if _share(entry, each).train}
    for name, entry in plan.apps.items():
        app = app_named(name)
        own: list[Run] = []
        for kind, each in entry.faults.items():
            share = _share(entry, each)
            if share.new_fault and kind in trained:
                raise InvalidInputError(f"{name}: {kind} is a new fault, yet trained on")
            if share.new_app and any(_share(entry, other).train for other in entry.faults.values()):
                raise InvalidInputError(f"{name}: is a new application, yet trained on")
            own += _fault_runs(plan, app, kind_named(kind), each, share)
        for kind, share in entry.controls.items():
            own += _control_runs(plan, app, kind_named(kind), share)
        own += _concurrent_runs(plan, app, entry)
        runs += [replace(run, noise=noise.around(app, run.id, run.split, run.faults, plan.noise.share)) for run in own]
    return tuple(sorted(runs, key=lambda r: r.id.rpartition("-")[2]))


def _share(entry: AppPlan, each: FaultPlan) -> Share:
    return each.runs or entry.each


def _fault_runs(plan: Plan, app: App, kind: FaultKind, each: FaultPlan, share: Share) -> list[Run]:
    both = set(each.places) & set(each.held_out)
    if both:
        raise InvalidInputError(f"{app.name}: {kind.name}: {', '.join(sorted(both))} is both trained on and held out")
    places = each.places or tuple(p for p in kind.places(app) if p not in each.held_out)
    runs: list[Run] = []
    for split in ON_SEEN_PLACES:
        runs += _spread(plan, app, kind, _forms(plan, app, kind, places, each), split, share.of(split), share.train)
    if each.held_out:
        forms = _forms(plan, app, kind, each.held_out, each)
        runs += _spread(plan, app, kind, forms, "new_location", share.new_location)
    return runs


def _control_runs(plan: Plan, app: App, kind: FaultKind, share: Share) -> list[Run]:
    forms = _forms(plan, app, kind, kind.places(app), FaultPlan())
    return [run for split in CONTROL_SPLITS for run in _spread(plan, app, kind, forms, split, share.of(split))]


def _concurrent_runs(plan: Plan, app: App, entry: AppPlan) -> list[Run]:
    """Of the same places and strengths as the runs of one fault. In new_fault the pairing is new, the kinds need not be."""
    held = {frozenset(categories) for categories in plan.held_pairings}
    trained: list[Pair] = []
    runs: list[Run] = []
    for split in (*ON_SEEN_PLACES, "new_location"):
        count, seed = entry.concurrent.of(split), f"{plan.seed}/{app.name}/concurrent/{split}"
        if split == "repeat":
            pairs = trained[:count]
        else:
            faults = [fault for kind, each in entry.faults.items() for fault in _faults_of(plan, app, kind, each, entry, split)]
            pairs = draw_pairs(app, faults, count, seed, held, only=split == "new_fault")
        if len(pairs) < count:
            raise InvalidInputError(f"{app.name}: concurrent: only {len(pairs)} pairs of faults for {count} {split} runs")
        if split == "train":
            trained = pairs
        runs += [_concurrent_run(app, pair, split, seed) for pair in pairs]
    return runs


def _faults_of(plan: Plan, app: App, kind: str, each: FaultPlan, entry: AppPlan, split: Split) -> list[Fault]:
    """The faults of a kind that a split's pairs are drawn from."""
    share = _share(entry, each)
    if split == "new_location":
        places = each.held_out if share.new_location else ()
    elif share.of("train" if split == "new_fault" else split):
        places = each.places or tuple(p for p in kind_named(kind).places(app) if p not in each.held_out)
    else:
        return []
    return [Fault(kind, place, strength) for place, strength in _forms(plan, app, kind_named(kind), places, each)]


def _concurrent_run(app: App, pair: Pair, split: Split, seed: str) -> Run:
    digest = hashlib.sha256(f"{seed}/{pair}".encode()).hexdigest()
    first, second = (replace(fault, variant=int(digest[n : n + 4], 16) % 1000) for n, fault in zip((10, 14), pair, strict=True))
    return Run(f"{app.name}-{digest[:10]}", app.name, first, split, second)


def _forms(plan: Plan, app: App, kind: FaultKind, places: tuple[str, ...], each: FaultPlan) -> tuple[Form, ...]:
    """Place and strength in a random order, all places before any comes again; what is left out is so only then."""
    rng = random.Random(f"{plan.seed}/{app.name}/{kind.name}")
    possible = {place: each.strengths or kind.strengths_at(app, place) for place in places}
    left_out = {place: strengths or kind.strengths_at(app, place) for place, strengths in each.without.items()}
    for place, there in (*possible.items(), *left_out.items()):
        for strength in there or tuple(kind.strengths):
            kind.validate(app, Fault(kind.name, place, strength))
    mixed = {place: rng.sample(possible[place], len(possible[place])) for place in rng.sample(places, len(places))}
    turns = max(map(len, mixed.values()), default=0)
    forms = ((place, there[turn]) for turn in range(turns) for place, there in mixed.items() if turn < len(there))
    return tuple((place, strength) for place, strength in forms if strength not in left_out.get(place, ()))


def _spread(plan: Plan, app: App, kind: FaultKind, forms: tuple[Form, ...], split: Split, count: int, seen: int = 0) -> list[Run]:
    """So many runs over the forms in turn; ``repeat`` takes from the first ``seen`` of them, which training has seen."""
    if split == "repeat":
        forms = forms[:seen]
    if count and not forms:
        raise InvalidInputError(f"{app.name}: {kind.name}: nothing to make {count} {split} runs of")
    runs = []
    for number in range(count):
        place, strength = forms[number % len(forms)]
        key = f"{plan.seed}/{app.name}/{kind.name}/{place}/{strength}/{split}/{number // len(forms)}"
        digest = hashlib.sha256(key.encode()).hexdigest()
        fault = Fault(kind.name, place, strength, int(digest[10:14], 16) % 1000)
        runs.append(Run(f"{app.name}-{digest[:10]}", app.name, fault, split))
    return runs
