"""Turns reports, evidence and queries into arrays: one kind of input per file."""
