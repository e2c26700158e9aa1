"""Users of the applications: a steady load, and probe users who note what a person would see."""
