"""Answers that a person signs with an own key, and answers that nobody verified: approvals without Airflow.

A signature covers the group, the run, the question and everything that was answered, so it counts for nothing else.
"""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from kafka_dr.approvals.journaled import BY_KEY, BY_NOBODY, Answer, AskedQuestion
from kafka_dr.evidence.canonical import canonical
from kafka_dr.evidence.signing import SigningKey, fingerprint, is_signed
from kafka_dr.outcomes import Check
from kafka_dr.people import Person
from kafka_dr.topology.model import ProtectionGroup

#: How the facts begin that say what was erased of the stranded records that a run left.
_ERASED = "erased-"
#: The fact of a run that says that somebody has looked at its break glass.
REVIEWED = "break_glass_reviewed"


def public_pem(line: str) -> str:
    """Return a public key as PEM.

    :param line: as the topology declares it
    """
    return f"-----BEGIN PUBLIC KEY-----\n{line}\n-----END PUBLIC KEY-----\n"


def public_line(pem: str) -> str:
    """Return a public key as the topology declares it: the one line in its PEM file."""
    return "".join(pem.splitlines()[1:-1])


def key_people(group: ProtectionGroup) -> tuple[Person, ...]:
    """Return the approvers who can sign, each with the fingerprint of the key."""
    return tuple(
        Person(name, fingerprint(public_pem(line)))
        for name, line in group.approver_keys.items()
        if may_approve(group, name)
    )


def may_approve(group: ProtectionGroup, name: str) -> bool:
    """Return whether a person with a key may approve: the topology names the person, or roles that people have."""
    return name in group.approvers or bool(group.approver_roles)


def approver_of(group: ProtectionGroup, key: SigningKey) -> Person | None:
    """Return the approver whose declared key belongs to a private key; ``None`` if it is nobody's."""
    own = fingerprint(key.public_pem)
    return next((person for person in key_people(group) if person.id == own), None)


def requester_of(group: ProtectionGroup, key: SigningKey) -> str:
    """Return the name of the person whose declared key belongs to a private key; empty if it is nobody's.

    Who may only ask has a key in ``requester_keys``, and is not an approver by it.
    """
    person = approver_of(group, key)
    if person is not None:
        return person.name
    own = fingerprint(key.public_pem)
    return next((name for name, line in group.requester_keys.items() if fingerprint(public_pem(line)) == own), "")


def about(answer: Answer, question: AskedQuestion) -> Answer:
    """Return an answer that names its question, as the register will hold it."""
    return replace(
        answer, verb=question.verb, attempt=question.attempt, question=question.digest, requester=question.requester
    )


def sign(answer: Answer, group: str, run: str, key: SigningKey) -> Answer:
    """Return the answer with a signature.

    :param answer: names its question, see :func:`about`
    """
    return replace(answer, signature=b64encode(key.sign(_statement(answer, group, run))).decode("ascii"))


def verified(answer: Answer, group: ProtectionGroup, run: str, *, glass: bool = True) -> Check:
    """Return whether it is known who gave an answer that did not come through Airflow.

    An answer that nobody verified is ``overridden``: it lets the run continue, and is never shown as ok.

    :param glass: whether such an answer may count; not where application data is deleted
    """
    name = "responder_is_verified"
    if answer.verified == BY_NOBODY and not glass:
        said = "nobody verified who approved, and this deletes data: it needs two people who are known"
        return Check(name, "failed", f"{said}. Use the mode quarantine, or approvers with keys")
    if answer.verified == BY_NOBODY:
        said = f"break glass: somebody who gave the name {answer.responder} approved, and nobody verified who that was"
        return Check(name, "overridden", said)
    line = group.approver_keys.get(answer.responder)
    if answer.verified != BY_KEY:
        return Check(name, "ok", f"{answer.responder} was verified by {answer.verified}")
    if line is None:
        return Check(name, "failed", f"the topology declares no key of {answer.responder} in approver_keys any more")
    try:
        signature = b64decode(answer.signature, validate=True)
    except binascii.Error:
        signature = b""
    pem = public_pem(line)
    if may_approve(group, answer.responder) and is_signed(_statement(answer, group.name, run), signature, pem):
        return Check(name, "ok", f"{answer.responder} signed the answer with the key {fingerprint(pem)[:16]}…")
    said = f"the answer is not signed with the declared key of {answer.responder}: find out who wrote it"
    return Check(name, "failed", said)


def sign_erasure(erasure: Mapping[str, Any], group: str, run: str, key: SigningKey) -> str:
    """Return an approver's signature of an erasure, in base64.

    :param erasure: as the journal will keep it
    :param run: the unplanned failover that left the records
    """
    return b64encode(key.sign(_erasure_statement(erasure, group, run))).decode("ascii")


def erasure_is_signed(erasure: Mapping[str, Any], group: ProtectionGroup, run: str) -> bool:
    """Return whether an erasure is signed with the declared key of the approver that it names.

    :param erasure: as the journal keeps it
    :param run: the unplanned failover that left the records
    """
    line = group.approver_keys.get(str(erasure["approver"]))
    try:
        signature = b64decode(str(erasure["signature"]), validate=True)
    except binascii.Error:
        return False
    return line is not None and is_signed(_erasure_statement(erasure, group.name, run), signature, public_pem(line))


def unreviewed(history: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the runs that somebody approved by break glass, and that nobody has reviewed since.

    A run counts, too, if content of the stranded records that it left was erased that way after the last review.

    :param history: everything journaled about a group, by run and fact
    """
    return tuple(sorted(run for run, facts in history.items() if _is_unreviewed(facts)))


def _is_unreviewed(facts: Mapping[str, Any]) -> bool:
    reviewed = facts.get(REVIEWED)
    permissions = (name for name in facts if "answer." in name or name.startswith(_ERASED))
    by_nobody = {name: facts[name] for name in permissions if facts[name].get("verified") == BY_NOBODY}
    if reviewed is None or not by_nobody:
        return bool(by_nobody)
    erased = [datetime.fromisoformat(fact["at"]) for name, fact in by_nobody.items() if name.startswith(_ERASED)]
    return bool(erased) and max(erased) > datetime.fromisoformat(reviewed["at"])


def _erasure_statement(erasure: Mapping[str, Any], group: str, run: str) -> bytes:
    """Return what is signed: canonical JSON of everything that the journal keeps, but for the signature itself."""
    said = {name: value for name, value in erasure.items() if name != "signature"}
    about = {"purpose": "kafka-dr erasure", "group": group, "left_by": run}
    return canonical({**about, "erasure": said}).encode("utf-8")


def _statement(answer: Answer, group: str, run: str) -> bytes:
    """Return what is signed: canonical JSON, without the signature itself and without who verified it."""
    said = {name: value for name, value in answer.to_json().items() if name not in ("signature", "verified")}
    return canonical({"purpose": "kafka-dr approval", "group": group, "run": run, **said}).encode("utf-8")
