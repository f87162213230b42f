"""What parsing the DAGs says, in a process of its own, so that nothing is imported before."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lab.errors import LabError
from lab.layout import PROJECT

_PARSER = Path(__file__).with_name("parsed_dags.py")
_SECONDS = 300.0


def parsed(folder: Path, environ: Mapping[str, str]) -> dict[str, Any]:
    """Parse a folder of DAGs, and return seconds and task instances a day, as :mod:`lab.bench.parsed_dags` says.

    :param environ: names the topology
    :raises LabError: they could not be parsed
    """
    path = os.pathsep.join(str(PROJECT / name) for name in ("plugins", "include"))
    done = subprocess.run(
        [sys.executable, str(_PARSER), str(folder)],
        env={**environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=_SECONDS,
    )
    if done.returncode:
        raise LabError(f"the DAGs could not be parsed: {done.stderr[-2000:]}")
    return dict(json.loads(done.stdout.splitlines()[-1]))
