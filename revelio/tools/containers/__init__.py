"""The container runtime, through Docker's Engine API."""
