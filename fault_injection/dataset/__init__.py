"""What is done with recorded runs: freezing, judging and telling them anew, and reports of what they are worth."""
