"""Where people already are: Slack, alerts that come in, assistants."""
