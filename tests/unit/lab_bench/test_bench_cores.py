"""The benchmark of an audit by cores: which numbers it takes, and what it says of an audit."""

from __future__ import annotations

import pytest

from lab.bench import audit_cores
from lab.errors import LabError


@pytest.mark.parametrize(("text", "found"), [(None, ()), ("2", (2,)), ("1,2", (1, 2)), ("4, 1", (4, 1))])
def test_numbers_of_cores_are_read_as_they_are_written(text: str | None, found: tuple[int, ...]) -> None:
    assert audit_cores.numbers(text) == found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "--cores is '': write numbers with commas between them"),
        ("1,two", "--cores is '1,two': write numbers"),
        ("0", "--cores names 0: the Spark cluster of a lab has 1 to 4"),
        ("1,5", "--cores names 5: the Spark cluster of a lab has 1 to 4"),
    ],
)
def test_what_is_no_number_of_cores_is_refused_before_a_lab_starts(text: str, said: str) -> None:
    with pytest.raises(LabError, match=f"^{said}"):
        audit_cores.numbers(text)


def test_the_throughput_is_that_of_the_time_in_which_the_audit_reads() -> None:
    report = {"records_read": 3_000, "seconds": {"session": 5.0, "scan": 1.5, "compare": 0.2}}
    found = audit_cores.throughput(report, 9.0)
    assert (found["records_per_second"], found["scan_seconds"], found["seconds"]) == (2_000, 1.5, 9.0)
