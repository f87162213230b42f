"""A run that a process may still execute is neither finished nor abandoned: what a person reads then."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from kafka_dr.errors import Refused
from kafka_dr.runs.request import ResumeRequest

# The package offers the function under the name of its module.
resume = importlib.import_module("kafka_dr.verbs.resume")
LIVES = "run r of orders is still being executed: it showed life 5 s ago, and only after 60 s it counts as dead"


@pytest.mark.parametrize("decision", ["finish", "abandon"])
def test_the_refusal_says_what_to_wait_for(decision: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resume, "held_run", lambda *_: None)
    monkeypatch.setattr(resume, "shows_life", lambda *_: LIVES)
    clients: Any = None
    with pytest.raises(Refused) as refused:
        resume.resume(ResumeRequest("orders", decision), clients)
    said = str(refused.value)
    assert said.startswith(LIVES)
    assert f"to {decision} it" in said
    assert "--confirmed" in said, "the option of the command line is named"
