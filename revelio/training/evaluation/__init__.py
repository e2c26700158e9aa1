"""Evaluates rankings: metrics, baselines, and the comparison of methods on a labelled dataset."""
