"""Loki."""
