"""What every store of traces is asked, and how its traces are read."""
