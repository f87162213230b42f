"""What was escaped for Markdown is shown to a terminal as somebody wrote it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kafka_dr.quoting import code, line, markdown, unescaped


@given(st.text(alphabet=st.characters(codec="ascii", exclude_characters="`@"), max_size=40))
def test_a_terminal_shows_what_was_escaped(text: str) -> None:
    told = line(text)
    if "://" not in told and "www." not in told.lower():
        assert unescaped(markdown(text)) == told


def test_a_pattern_in_a_code_span_keeps_its_backslashes() -> None:
    pattern = code(r"^orders\..*")
    assert unescaped(markdown("10.0 s: ") + pattern) == r"10.0 s: `^orders\..*`"
