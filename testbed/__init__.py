"""The applications that faults are put into, their backends and their users. Imports nothing of Revelio's."""
