"""P(tool | report, evidence) x P(template | tool, ...) x P(values | template, ...), served from a model folder."""
