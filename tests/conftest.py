"""What holds for all tests."""

from __future__ import annotations

import os

from hypothesis import settings

# How long one example takes says more about the machine than about the code: timings are the business of `revelio bench`.
settings.register_profile("revelio", deadline=None)
settings.load_profile("revelio")

# The networks that tests train are too small for two threads, which spin while they wait for each other: beside other work
# that takes ten times as long. Set before torch is loaded, and for processes that tests start.
os.environ.setdefault("OMP_NUM_THREADS", "1")
