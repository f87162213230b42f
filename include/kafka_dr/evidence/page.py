"""Renders the pages: each is one HTML file that loads nothing else."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from importlib.resources import files as resources
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined, Template

from kafka_dr.evidence.audit_view import AuditView
from kafka_dr.evidence.group_view import GroupView
from kafka_dr.evidence.observation_view import ObservationView
from kafka_dr.evidence.question_view import QuestionView
from kafka_dr.evidence.result_view import ResultView
from kafka_dr.evidence.seal import FileDigest
from kafka_dr.evidence.shown_markdown import shown_line, shown_markdown
from kafka_dr.evidence.status_colour import colour_of
from kafka_dr.evidence.status_view import StatusView
from kafka_dr.evidence.trigger_view import TriggerView
from kafka_dr.evidence.view_model import RunView
from kafka_dr.quoting import block
from kafka_dr.verb_words import without_ids
from kafka_dr.version import VERSION

#: The tags around what is shown as it is stored.
_STORED = ("<code", "<pre")


@cache
def _template(name: str) -> Template:
    environment = Environment(
        loader=FunctionLoader(_text),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_harmless,
    )
    environment.globals["version"] = VERSION
    environment.globals["script_source"] = script_source()
    environment.filters["colour"] = colour_of
    environment.filters["clock"] = _clock
    environment.filters["seconds"] = _seconds
    environment.filters["markdown"] = shown_markdown
    environment.filters["markdown_line"] = shown_line
    return environment.get_template(name)


def _harmless(value: object) -> object:
    """Show control characters, such as a change of the writing direction, as text. Tags are escaped by the template."""
    return block(value) if type(value) is str else value


@cache
def script_source() -> str:
    """Return the one script of the pages as a ``Content-Security-Policy`` names it."""
    source = _text("script.html.j2").partition("<script>")[2].partition("</script>")[0]
    return f"'sha256-{b64encode(sha256(source.encode()).digest()).decode()}'"


def _rendered(name: str, **shown: Any) -> str:
    """Return a page. Where people read, runs have names; code, stored values and addresses keep their ids."""
    page = _template(name).render(**shown)

    def is_read(at: int) -> bool:
        tag = page.rfind("<", 0, at)
        return tag < page.rfind(">", 0, at) and not page.startswith(_STORED, tag)

    return without_ids(page, is_read)


def _text(name: str) -> str:
    return resources("kafka_dr.evidence").joinpath(name).read_text(encoding="utf-8")


def render_page(
    view: RunView, *, files: Iterable[FileDigest], sealed_at: datetime | None, reload_seconds: int = 0
) -> str:
    """Return the page of a run.

    :param files: what the seal covers, without the page
    :param sealed_at: the time of the seal, aware; ``None`` for a page that no seal covers
    :param reload_seconds: how often it loads again by itself; 0: never
    """
    stamp = sealed_at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC") if sealed_at else ""
    return _rendered("page.html.j2", view=view, files=tuple(files), sealed_at=stamp, reload_seconds=reload_seconds)


def render_audit(view: AuditView) -> str:
    """Return the page of an audit."""
    return _rendered("audit.html.j2", view=view)


def render_observation(view: ObservationView) -> str:
    """Return the page of an observed flow."""
    return _rendered("observation.html.j2", view=view)


def render_status(view: StatusView, *, reloads: bool = True) -> str:
    """Return the status page.

    :param reloads: whether it loads again by itself, which takes the focus from where a keyboard has put it
    """
    return _rendered("status.html.j2", view=view, reloads=reloads)


def render_group(view: GroupView) -> str:
    """Return the page of a protection group."""
    return _rendered("group.html.j2", view=view)


def render_result(view: ResultView) -> str:
    """Return the page of a watch's newest result."""
    return _rendered("result.html.j2", view=view)


def render_trigger(view: TriggerView, nonce: str) -> str:
    """Return the page of a form.

    :param nonce: of its script, as the header names it
    """
    return _rendered("trigger.html.j2", view=view, nonce=nonce)


def render_question(view: QuestionView, nonce: str) -> str:
    """Return the page that shows a question, and takes the answer.

    :param nonce: of its script, as the header names it
    """
    return _rendered("question.html.j2", view=view, how=view.how, nonce=nonce)


def with_way_back(page: str, links: Iterable[tuple[str, str]]) -> str:
    """Return a page with links above it. The page itself stays as it is kept.

    :param links: title and address of each
    """
    bar = _rendered("way_back.html.j2", links=tuple(links))
    head, main, rest = page.partition("<main>")
    return f"{head}{bar}{main}{rest}" if main else page


def render_notice(title: str, sentence: str, *, back: str, reload_seconds: int = 0) -> str:
    """Return a page with one sentence, for when there is no evidence to show.

    :param back: the address of its link
    :param reload_seconds: how often it loads again by itself; 0: never
    """
    return _rendered("notice.html.j2", title=title, sentence=sentence, back=back, reload_seconds=reload_seconds)


def _clock(stamp: str) -> str:
    """Return the time of a stamp, to the millisecond. A text that is not a time is shown as it is."""
    try:
        return datetime.fromisoformat(stamp).astimezone(UTC).isoformat(sep=" ", timespec="milliseconds")[:23]
    except ValueError:
        return stamp


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:,.2f}"
