"""What the verbs are called in sentences: journals and evidence keep their names, people read these."""

from __future__ import annotations

_OTHERWISE = {"un_adopt": "release"}


def verb_words(verb: str) -> str:
    """Return a verb as a noun: ``planned failover``, ``take over``, ``release``."""
    return _OTHERWISE.get(verb, verb.replace("_", " "))
