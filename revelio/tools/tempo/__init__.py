"""Tempo: traces."""
