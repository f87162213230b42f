"""What can go wrong, by what the caller should do about it.

::

    KafkaDrError                 one clear sentence: what was seen, what was expected, what to do
    ├── Refused                  the request must not be carried out now; nothing was changed
    ├── Unanswered               what was asked stays unknown
    │   ├── TryAgain             a cluster or service was not ready or did not answer; the same call may succeed later
    │   └── ConnectionMistake    what we connect with is wrong; a person corrects it, and waiting does not help
    ├── OutcomeUnknown           a change may or may not have happened; read before doing anything else
    └── NeedsPerson              no program may decide this; nothing is changed until a person decides
"""

from __future__ import annotations


class KafkaDrError(Exception):
    """The root of every error that this project raises on purpose."""


class Refused(KafkaDrError):
    """The request must not be carried out now. Nothing was changed."""


class Unanswered(KafkaDrError):
    """No usable answer came, so what was asked stays unknown."""


class TryAgain(Unanswered):
    """A cluster or service was not ready, or did not answer before the deadline. The same call may succeed later."""


class ConnectionMistake(Unanswered):
    """A login, a certificate, a host name or a protocol that we connect with is wrong.

    It is never waited for, as only a person can correct it. It says nothing about whether the cluster or service works.
    """


class OutcomeUnknown(KafkaDrError):
    """A change was sent and not answered: it may or may not have happened. Read before doing anything else."""


class NeedsPerson(KafkaDrError):
    """The facts contradict each other or cannot be read. A person has to decide; nothing is changed until then."""
