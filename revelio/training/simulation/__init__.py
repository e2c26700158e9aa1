"""Simulated systems and incidents, for pretraining only: nothing is ever measured on them but what training did."""

from revelio.training.simulation.incident import NAME, simulate, simulated
from revelio.training.simulation.reports import Corpus, corpus

__all__ = ["NAME", "Corpus", "corpus", "simulate", "simulated"]
