"""Kubernetes: what its API server knows of workloads, pods, nodes and their events."""
