"""Recorded incidents: the exchange format, the bundled ones, and labelled datasets."""
