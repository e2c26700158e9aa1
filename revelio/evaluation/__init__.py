"""How good a ranking is: metrics, baselines, and the run that compares methods on a labelled dataset."""
