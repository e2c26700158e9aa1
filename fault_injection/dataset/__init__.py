"""What is done with recorded runs: freeze, relabel and rewrite them, and report how good they are."""
