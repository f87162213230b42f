"""What can go wrong, by what the caller should do about it.

::

    KafkaDrError                 one clear sentence: what was seen, what was expected, what to do
    ├── Refused                  the request must not be carried out now; nothing was changed
    ├── TryAgain                 a cluster or service was not ready or did not answer; the same call may succeed later
    ├── OutcomeUnknown           a change may or may not have happened; read before doing anything else
    └── NeedsPerson              no program may decide this; nothing is changed until a person decides
"""

from __future__ import annotations


class KafkaDrError(Exception):
    """The root of every error that this project raises on purpose."""


class Refused(KafkaDrError):
    """The request must not be carried out now. Nothing was changed."""


class TryAgain(KafkaDrError):
    """A cluster or service was not ready, or did not answer before the deadline. The same call may succeed later."""


class OutcomeUnknown(KafkaDrError):
    """A change was sent and not answered: it may or may not have happened. Read before doing anything else."""


class NeedsPerson(KafkaDrError):
    """The facts contradict each other or cannot be read. A person has to decide; nothing is changed until then."""
