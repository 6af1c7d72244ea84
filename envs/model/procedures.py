"""Procedures as data: which transactions a request needs, in order, and which element answers each."""

from typing import NamedTuple


class Transaction(NamedTuple):
    """One question and its answer."""

    name: str
    """What is asked, in the field's words."""
    element: str
    """The server that answers, a key of the topology."""


ATTACH_EPS: tuple[Transaction, ...] = (
    Transaction("attach request", "mme"),
    Transaction("authentication information", "hss"),
    Transaction("update location", "hss"),
    Transaction("create session", "gateway"),
    Transaction("CCR-I", "pcrf"),
    Transaction("CCR-I (Gy)", "ocs"),
    Transaction("session write", "database"),
)
"""EPS attach (TS 23.401 5.3.2.1): the MME itself, S6a twice, S11/S5, Gx, Gy, and the session database."""

ATTACH_GPRS: tuple[Transaction, ...] = (
    Transaction("authentication information", "links"),
    Transaction("IMEI check", "links"),
    Transaction("update location", "links"),
    Transaction("insert data", "links"),
)
"""GPRS attach (TS 23.060 6.5): four messages towards the STP, four back."""

REFRESH_GPRS: tuple[Transaction, ...] = (
    Transaction("update location", "links"),
    Transaction("insert data", "links"),
)
"""Location refresh of a flagged subscriber (TS 23.007): two messages each way; the gate does not pace it."""

PROCEDURES = {"eps": ATTACH_EPS, "gprs": ATTACH_GPRS}
"""The attach procedure of each access."""
