"""``python .ci/bill_of_materials.py LOCK``: prints what a release is made of, as CycloneDX in JSON."""

from __future__ import annotations

import json
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

from locked import locked

ROOT = Path(__file__).parent.parent


def bill(lock: Path) -> dict[str, Any]:
    """The same lock file gives the same bill."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    parts = [
        {
            "type": "library",
            "bom-ref": package.purl,
            "name": package.name,
            "version": package.version,
            "purl": package.purl,
            "externalReferences": [
                {"type": "distribution", "url": package.purl, "hashes": [{"alg": "SHA-256", "content": h}]}
                for h in package.hashes
            ],
        }
        for package in locked(lock)
    ]
    whole = {"type": "application", "bom-ref": project["name"], "name": project["name"], "version": version(project["name"])}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": whole | {"licenses": [{"license": {"id": project["license"]}}]}},
        "components": parts,
        "dependencies": [{"ref": project["name"], "dependsOn": [part["bom-ref"] for part in parts]}],
    }


if __name__ == "__main__":
    print(json.dumps(bill(Path(sys.argv[1])), indent=1))
