"""How faults are made: what acts on a container, a network, a process or a store, and what looks at it. No kind is known here."""
