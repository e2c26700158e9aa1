"""Watches an application from outside: its links' figures, a rolling packet capture, a record of its containers' events."""
