"""From labelled incidents to a model folder. The only room that knows torch; serving needs none of it."""
