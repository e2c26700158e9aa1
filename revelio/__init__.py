"""Revelio ranks the debugging queries most likely to show the root cause behind a bug report."""

import os

from revelio.support.moved_modules import find_moved_modules

__version__ = "0.3.0"

# ONNX Runtime sends telemetry to its vendor, and keeps a device id under the user's cache folder, unless this is set before
# it is imported. All that imports it lies in this package, so it is always set by then, in processes that these start too.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

find_moved_modules()
