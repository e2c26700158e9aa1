"""The corpus of user reports: which complaints people have written about which feature of which application."""

from __future__ import annotations

import json
from collections import defaultdict
from functools import cache
from pathlib import Path

CORPUS = Path(__file__).resolve().parent.parent / "reports"
SITE = "_site"
"""The feature of complaints about an application as a whole."""


@cache
def symptoms(app: str) -> dict[str, frozenset[str]]:
    """The symptoms that were written about, by feature of the application (variants count as one)."""
    found: dict[str, set[str]] = defaultdict(set)
    for cell in json.loads((CORPUS / "cells.json").read_text(encoding="utf-8"))["cells"]:
        about, feature, symptom = cell["cell"].split("/")
        if about == app:
            found[feature].add(symptom.split("#")[0])
    return {feature: frozenset(of) for feature, of in found.items()}


def features(app: str) -> tuple[str, ...]:
    """The features of the application, in the corpus's order."""
    return tuple(feature for feature in symptoms(app) if feature != SITE)
