"""What a command ends with."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from enum import IntEnum
from typing import Any, TypeVar

Command = TypeVar("Command", bound=Callable[..., Any])


class ExitCode(IntEnum):
    """How a command ended. The help of each command says what the numbers mean for it."""

    GOOD = 0
    BAD = 1
    MISUSED = 2
    UNKNOWN = 3
    REFUSED = 4


#: The paragraph about exit codes of every command that asks clusters.
_IN_HELP = (
    "Exit codes: 0 good; 1 not good: somebody has to do something; 2 wrong arguments, topology or connections; "
    "3 unknown: something did not answer; 4 refused, and nothing was changed."
)


def with_exit_codes(command: Command) -> Command:
    """Add the exit codes to the help of a command."""
    command.__doc__ = f"{inspect.cleandoc(command.__doc__ or '')}\n\n{_IN_HELP}"
    return command
