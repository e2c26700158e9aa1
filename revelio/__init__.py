"""Revelio ranks the debugging queries most likely to show the root cause behind a bug report."""

__version__ = "0.1.0"
