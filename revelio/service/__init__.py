"""Answers questions: the pipeline from a report to ranked queries, and the application service that every way in calls."""

from revelio.service.service import DEADLINES, Service

__all__ = ["DEADLINES", "Service"]
