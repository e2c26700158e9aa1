"""Jaeger: traces."""
