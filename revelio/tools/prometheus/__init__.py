"""Prometheus: metrics."""
