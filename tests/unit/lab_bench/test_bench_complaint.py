from __future__ import annotations

import pytest

from lab.submitted import complaint

_TRACE = (
    "java.lang.OutOfMemoryError: Java heap space\n\tat java.base/Arrays.copyOf(Unknown Source)\n\tat x.Y.z(Y.java:1)\n"
)


@pytest.mark.parametrize(
    ("said", "complained", "told"),
    [
        (_TRACE, "", "java.lang.OutOfMemoryError: Java heap space"),
        ("unknown: west does not answer.\n20:00:00 WARN Utils: closing\n", "", "unknown: west does not answer."),
        ("the audit of the equal topics ended with 2\n", "\n", "the audit of the equal topics ended with 2"),
        ("", "Killed\n", "Killed"),
        ("", "", "no message"),
    ],
)
def test_the_bench_passes_on_why_a_job_failed(said: str, complained: str, told: str) -> None:
    assert complaint(said, complained) == told
