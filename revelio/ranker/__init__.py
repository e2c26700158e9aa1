"""P(tool | report, evidence) x P(template | tool, ...) x P(values | template, ...), trained, calibrated, exported, served."""
