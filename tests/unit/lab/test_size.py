"""What a line is counted as."""

from __future__ import annotations

from lab.size import lines_of

_MODULE = '''"""One line.

And its second paragraph.
"""

# Why.
NAME = """text

in code"""  # and a comment next to it


def found() -> int:
    """Document."""
    "no docstring"
    return 1
'''


def test_each_line_is_one_thing() -> None:
    assert lines_of(_MODULE) == {"files": 1, "code": 6, "comments": 1, "docstrings": 5, "blank": 3}
