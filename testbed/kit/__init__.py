"""What every service of the testbed shares: settings, tracing, logs, metrics, clients, and the way it starts."""
