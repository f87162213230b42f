"""Which situation a group is in, in one sentence, and the one step that helps: judged from what is known already.

Every page, the command line, notifications and run notes show this one judgement.
"""

from __future__ import annotations

from kafka_dr.situations.group_facts import Finding, GroupFacts
from kafka_dr.situations.group_now import GroupNow, group_now
from kafka_dr.situations.group_record import GroupRecord
from kafka_dr.situations.judgement import Judgement, judge
from kafka_dr.situations.reading import read_now
from kafka_dr.situations.table import SITUATIONS, Action, Situation

__all__ = [
    "SITUATIONS",
    "Action",
    "Finding",
    "GroupNow",
    "GroupRecord",
    "Judgement",
    "GroupFacts",
    "Situation",
    "group_now",
    "judge",
    "read_now",
]
