"""Learns from what people said of earlier answers, and takes over only what is not worse."""
