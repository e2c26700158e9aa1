"""From labelled incidents to a model folder. The only package that imports torch; serving does not need it."""
