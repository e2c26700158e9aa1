"""What is there: the conventions that a backend's series follow, as the profile of a system."""
