"""Learns from feedback on earlier answers, and adopts a new version only if it is not worse."""
