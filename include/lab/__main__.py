"""``python3 include/lab``: make sure that the lab's own Python environment exists, then run the command in it."""

from __future__ import annotations

import sys
from pathlib import Path

# `python3 include/lab` puts this folder first on the path, where its modules would hide packages of the same name.
_HERE = Path(__file__).resolve().parent
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != _HERE]
if str(_HERE.parent) not in sys.path:
    sys.path.insert(0, str(_HERE.parent))

from lab.bootstrap import enter  # noqa: E402

if __name__ == "__main__":
    sys.exit(enter(sys.argv[1:]))
