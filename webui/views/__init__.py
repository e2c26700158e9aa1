"""What templates show, and the code that computes it."""
