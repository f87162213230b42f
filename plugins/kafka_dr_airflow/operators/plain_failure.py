"""How a task fails: with one sentence as the last line of its log, without a traceback after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar, cast

from airflow.sdk.exceptions import AirflowException, AirflowFailException

from kafka_dr.errors import KafkaDrError, OutcomeUnknown, TryAgain
from kafka_dr.quoting import block

_Execute = TypeVar("_Execute", bound=Callable[..., Any])


def fails_plainly(execute: _Execute) -> _Execute:
    """Let a method that Airflow calls end with the sentence of its exception, without the traceback.

    Airflow's task runner logs the traceback of every exception except SystemExit. Of that one it logs the text, at
    ERROR, and it treats it as any other failure. A failure that must not be tried again stays Airflow's own exception
    while the task has tries left. An unforeseen error keeps its traceback.

    :param execute: ``pre_execute``, ``execute`` or ``execute_complete`` of an operator
    """

    @wraps(execute)
    def plainly(self: Any, context: Any, *arguments: Any, **named: Any) -> Any:
        try:
            return execute(self, context, *arguments, **named)
        except AirflowException as error:
            final = type(error) is AirflowFailException
            # Exceptions that are derived from these two mean that a task is skipped, waits, or starts another run.
            if not (final or type(error) is AirflowException) or (final and _may_be_tried_again(context)):
                raise
            raise SystemExit(str(error)) from None

    return cast("_Execute", plainly)


def _may_be_tried_again(context: Any) -> bool:
    task = context["ti"]
    return int(task.try_number) <= int(task.max_tries)


@contextmanager
def plain_errors() -> Iterator[None]:
    """Turn errors of the core into Airflow's. The sentence stays; only an error that may go away can be retried."""
    try:
        yield
    except (TryAgain, OutcomeUnknown) as error:
        raise AirflowException(block(str(error))) from None
    except KafkaDrError as error:
        raise AirflowFailException(block(str(error))) from None
