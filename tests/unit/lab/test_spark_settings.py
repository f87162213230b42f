from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from lab.spark import HEARTBEAT, compiled_in


def test_what_was_compiled_is_kept_away_from_the_sources_also_where_python_may_keep_nothing(
    tmp_path: Path,
) -> None:
    sources, cache = tmp_path / "sources", tmp_path / "cache"
    sources.mkdir()
    (sources / "job.py").write_text("print('done')")
    environ = {"PYTHONPATH": str(sources), "PYTHONDONTWRITEBYTECODE": "1", **compiled_in(cache)}

    subprocess.run([sys.executable, "-c", "import job"], check=True, env=environ)

    assert [each.name for each in sources.iterdir()] == ["job.py"]
    assert list(cache.rglob("job.*.pyc"))


def test_no_heartbeat_comes_before_spark_has_started_and_one_comes_before_it_is_given_up() -> None:
    first = float(HEARTBEAT.removesuffix("s"))
    # Spark waits between once and twice as long for the first one, and gives up what is silent for this long.
    assert 30 < first < 2 * first < 120
