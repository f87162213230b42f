"""The first lines of a page: the judgement of the most urgent group, with the one button that helps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kafka_dr.counted import counted
from kafka_dr.evidence.status_colour import StatusColour
from kafka_dr.evidence.status_links import StatusLinks
from kafka_dr.situations.judgement import Judgement
from kafka_dr.situations.situation import Action

#: So many groups are named that share a situation.
_NAMED = 2


@dataclass(frozen=True, slots=True)
class HeadlineView:
    """What is the matter, and the one step that helps.

    :param about: the groups that it is about, in words; empty on the page of one group
    :param button: its label and its address; ``None`` if nothing has to be done
    :param notes: why other steps do not help, and what is not due yet
    """

    word: str
    colour: StatusColour
    about: str
    said: str
    sentence: str
    wait: str
    button: tuple[str, str] | None
    notes: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """All of it in one line."""
        return ": ".join(filter(None, (self.word, self.about, self.said)))


def headline_view(
    judgement: Judgement, links: StatusLinks, *, about: str = "", may_answer: bool = True
) -> HeadlineView:
    """Return the first lines about a group.

    :param about: the groups that it is about, in words
    :param may_answer: whether the reader may answer the question that waits
    """
    button = None
    if judgement.action:
        only_reads = judgement.action.opens == "question" and not may_answer
        label = "Read the question" if only_reads else judgement.action.label
        button = (label, href_of(judgement.action, judgement, links))
    notes = tuple(filter(None, (judgement.why_not, *(f"{each[:1].upper()}{each[1:]}." for each in judgement.not_due))))
    said = (judgement.word, judgement.colour, about, judgement.headline, judgement.sentence, judgement.wait)
    return HeadlineView(*said, button, notes)


def most_urgent(judged: Sequence[Judgement], links: StatusLinks, *, may_answer: bool = True) -> HeadlineView | None:
    """Return the first lines about many groups; ``None`` if there are none.

    :param judged: the most urgent first
    """
    if not judged:
        return None
    first = judged[0]
    same = [each.group for each in judged if (each.name, each.headline) == (first.name, first.headline)]
    if first.name == "well":
        said = "every group is well" if len(judged) > 1 else f"{first.group} is well"
        view = headline_view(first, links, about=counted(len(judged), "protection group"))
        return HeadlineView(view.word, view.colour, view.about, said, view.sentence, "", None, view.notes)
    more = f" and {len(same) - _NAMED} more" if len(same) > _NAMED else ""
    return headline_view(first, links, about=f"{', '.join(same[:_NAMED])}{more}", may_answer=may_answer)


def href_of(action: Action, judgement: Judgement, links: StatusLinks) -> str:
    """Return the address that a button opens."""
    if action.opens == "question" and judgement.dag_id:
        return links.question(judgement.dag_id, judgement.group, judgement.run)
    if action.opens == "form":
        return links.start(action.target, judgement.group)
    if action.opens == "dag":
        return links.dag(action.target)
    if action.opens == "result":
        return links.result(judgement.group, action.target)
    return links.evidence(judgement.group, judgement.run)
