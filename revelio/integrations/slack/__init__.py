"""The Slack bot: what people write, what they get, and the buttons under it."""
