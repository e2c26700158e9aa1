"""A system and its past: its backends, the window and evidence of a question, recorded incidents."""
