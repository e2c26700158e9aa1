"""Keeps answers, results and feedback: SQLite by default, any SQLAlchemy address when shared."""

from revelio.store.store import Feedback, HistoryEntry, SavedAnswer, Store, Verdict

__all__ = ["Feedback", "HistoryEntry", "SavedAnswer", "Store", "Verdict"]
