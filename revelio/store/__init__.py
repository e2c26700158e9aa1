"""Keeps answers, results, feedback, accounts and the audit trail: in SQLite by default, in Postgres when shared."""

from revelio.store.accounts import Person, Role, allows
from revelio.store.entries import HistoryEntry, Verdict
from revelio.store.store import Feedback, SavedAnswer, Store
from revelio.support.current_actor import Actor

__all__ = ["Actor", "Feedback", "HistoryEntry", "Person", "Role", "SavedAnswer", "Store", "Verdict", "allows"]
