"""What holds for all tests."""

from __future__ import annotations

from hypothesis import settings

# How long one example takes says more about the machine than about the code: timings are the business of `revelio bench`.
settings.register_profile("revelio", deadline=None)
settings.load_profile("revelio")
