"""ASGI middleware: security, request ids, metrics."""
