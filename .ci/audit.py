"""``python .ci/audit.py LOCK``: names the known vulnerabilities of every locked package.

Ends with 0 when there are none, 1 when there are, and 3 when the advisory service cannot be reached, so that nothing is known.
``ADVISORIES`` in the environment names another service that speaks OSV's language.
"""

from __future__ import annotations

import json
import os
import sys
import urllib.request
from pathlib import Path

from locked import locked

SERVICE = "https://api.osv.dev"
_WAIT_S = 20.0


def main() -> int:
    """Ask about all of them at once."""
    packages = list(locked(Path(sys.argv[1])))
    service = os.environ.get("ADVISORIES", SERVICE)
    if not service.startswith(("https://", "http://")):
        sys.exit(f"ADVISORIES is {service!r}; it begins with https://")
    body = {"queries": [{"package": {"purl": package.purl}} for package in packages]}
    asked = urllib.request.Request(  # noqa: S310 -- looked at above
        f"{service}/v1/querybatch", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(asked, timeout=_WAIT_S) as answer:  # noqa: S310 -- looked at above
            results = json.load(answer)["results"]
        found = [(p, v["id"]) for p, r in zip(packages, results, strict=True) for v in r.get("vulns", ())]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        print(f"not audited: the advisory service {service} cannot be asked ({error}); try again where it can be reached")
        return 3
    for package, advisory in found:
        print(f"{package.name} {package.version}: {advisory}")
    print(f"{len(packages)} packages audited, {len(found)} advisories")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
