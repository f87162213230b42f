"""A command on a terminal of its own, for what a person does in front of it: read, press keys, close the window."""

from __future__ import annotations

import os
import pty
import select
import signal
import time
from collections.abc import Callable


class OwnTerminal:
    """A command on a terminal of its own.

    :param argv: the command
    :param seconds: how long it may take to say what is waited for, and to end
    """

    def __init__(self, argv: list[str], *, seconds: float) -> None:
        self._seconds = seconds
        self._text = ""
        self.pid, self._window = pty.fork()
        if self.pid == 0:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # who started the tests may ignore some
                signal.signal(number, signal.SIG_DFL)
            os.execve(argv[0], argv, {**os.environ, "TERM": "dumb"})  # noqa: S606 - no colours

    @property
    def text(self) -> str:
        """What it has shown, without its line breaks."""
        return " ".join(self._text.split())

    def read(self, until: Callable[[str], bool] = lambda _: False, *, seconds: float | None = None) -> None:
        """Read what is shown until that holds, the command has ended, or the time is over."""
        deadline = time.monotonic() + (self._seconds if seconds is None else seconds)
        while not until(self.text) and time.monotonic() < deadline:
            if select.select([self._window], [], [], 0.5)[0]:
                try:
                    self._text += os.read(self._window, 65536).decode(errors="replace")
                except OSError:  # nobody writes there any more
                    return

    def press_control_c(self) -> None:
        """Interrupt it."""
        os.write(self._window, b"\x03")

    def end_it(self) -> None:
        """Send what a shell's ``kill`` sends."""
        os.kill(self.pid, signal.SIGTERM)

    def close_the_window(self) -> None:
        """Leave it nobody to read what it says."""
        os.close(self._window)
        self._window = -1

    def exit_code(self) -> int:
        """Wait for its end; after too long a time, kill it."""
        if self._window != -1:
            self.read()
        deadline = time.monotonic() + self._seconds
        while (ended := os.waitpid(self.pid, os.WNOHANG)) == (0, 0):
            if time.monotonic() > deadline:
                os.kill(self.pid, signal.SIGKILL)  # what it then ends with is none of what is expected
            time.sleep(0.1)
        return os.waitstatus_to_exitcode(ended[1])
