"""What can go wrong, by what the caller should do about it.

::

    KafkaDrError                 one clear sentence: what was seen, what was expected, what to do
    ├── Refused                  asked for something that must not be done now; nothing was changed
    ├── TryAgain                 the world was not ready or did not answer; the same call may succeed later
    ├── OutcomeUnknown           a change may or may not have happened; look before doing anything else
    └── NeedsPerson              no program may decide this; nothing moves until somebody does
"""

from __future__ import annotations


class KafkaDrError(Exception):
    """The root of every error that this project raises on purpose."""


class Refused(KafkaDrError):
    """Asked for something that must not be done now. Nothing was changed."""


class TryAgain(KafkaDrError):
    """The world was not ready, or did not answer before the deadline. The same call may succeed later."""


class OutcomeUnknown(KafkaDrError):
    """A change was sent and no answer came: it may or may not have happened. Read before acting."""


class NeedsPerson(KafkaDrError):
    """The facts contradict each other or cannot be read. A person has to decide; nothing moves."""
