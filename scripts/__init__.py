"""Commands for those who work on Revelio itself."""
