"""What a command ends with."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """How a command ended. The help of each command says what the numbers mean for it."""

    GOOD = 0
    BAD = 1
    MISUSED = 2
    UNKNOWN = 3
    REFUSED = 4


#: The paragraph about exit codes of every command that asks clusters.
IN_HELP = (
    "Exit codes: 0 good; 1 not good: somebody has to do something; 2 wrong arguments, topology or connections; "
    "3 unknown: something did not answer; 4 refused, and nothing was changed."
)
