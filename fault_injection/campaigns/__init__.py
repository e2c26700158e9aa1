"""Real runs that record labelled incidents: the plan, the loop over its runs, who watches, and what a run leaves behind."""
