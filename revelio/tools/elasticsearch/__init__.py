"""Elasticsearch: logs."""
