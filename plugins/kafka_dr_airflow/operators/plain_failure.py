"""How a task fails: with one sentence as the last line of its log, without a traceback after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar, cast

from airflow.sdk.definitions.retry_policy import RetryDecision, RetryPolicy
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowTaskTimeout

from kafka_dr.durations import duration
from kafka_dr.errors import KafkaDrError, OutcomeUnknown, TryAgain
from kafka_dr.quoting import block

_Execute = TypeVar("_Execute", bound=Callable[..., Any])


def fails_plainly(execute: _Execute) -> _Execute:
    """Let a method that Airflow calls end with the sentence of its exception, without the traceback.

    Airflow's task runner logs the traceback of every exception except SystemExit. Of that one it logs the text, at
    ERROR, and it treats it as any other failure. A failure that must not be tried again gets a retry policy that says
    so. A task that reaches its time limit ends what it started, and says what to do: an operator with ``at_its_limit``
    in its own words. An unforeseen error keeps its traceback.

    :param execute: ``pre_execute``, ``execute`` or ``execute_complete`` of an operator
    """

    @wraps(execute)
    def plainly(self: Any, context: Any, *arguments: Any, **named: Any) -> Any:
        try:
            return execute(self, context, *arguments, **named)
        except AirflowException as error:
            final = type(error) is AirflowFailException
            # Exceptions that are derived from these two mean that a task is skipped, waits, or starts another run.
            if not (final or type(error) is AirflowException):
                raise
            if final:
                self.retry_policy = NeverAgain()
            raise SystemExit(str(error)) from None
        except AirflowTaskTimeout:
            # Airflow asks a task to end what it started only if this exception reaches it, with its traceback.
            self.on_kill()
            raise SystemExit(_at_its_limit(self)) from None

    return cast("_Execute", plainly)


def _at_its_limit(operator: Any) -> str:
    limit = operator.execution_timeout.total_seconds()
    after = f"{duration(limit)}, its time limit (execution_timeout)"
    ended = f"{operator.task_id} was ended after {after}, and had not finished"
    known = getattr(operator, "at_its_limit", None)
    return (
        f"{ended}: {known()}" if known else f"{ended}: the log above shows how far it came; clear the task to try again"
    )


class NeverAgain(RetryPolicy):
    """Ends the tries of a task, whatever its ``retries`` say. Airflow asks the task that failed, where it failed."""

    def evaluate(self, *_arguments: Any, **_named: Any) -> RetryDecision:
        """Return that the task is not tried again."""
        return RetryDecision.fail()


@contextmanager
def plain_errors() -> Iterator[None]:
    """Turn errors of the core into Airflow's. The sentence stays; only an error that may go away can be retried."""
    try:
        yield
    except (TryAgain, OutcomeUnknown) as error:
        raise AirflowException(block(str(error))) from None
    except KafkaDrError as error:
        raise AirflowFailException(block(str(error))) from None


@contextmanager
def final() -> Iterator[None]:
    """Let a failure end the tries of a task that has more: another try would do something else than this one."""
    try:
        yield
    except AirflowException as error:
        if type(error) is not AirflowException:
            raise
        raise AirflowFailException(str(error)) from None
