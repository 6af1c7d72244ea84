"""Procedures: transactions one after another, until one fails or none is left."""

from collections.abc import Callable, Sequence
from itertools import chain

from tests.reference.gateway import Gateway
from tests.reference.handset import Handset
from tests.reference.links import Signalling
from tests.reference.server import Answer, Server

Step = Callable[[Answer], None]

GPRS_ATTACH = 4  # authentication information, IMEI check, update location, insert data (TS 23.060 6.5)
GPRS_REFRESH = 2  # update location, insert data (TS 23.007)


def eps_attach(hss: Server | None, gateway: Gateway | None, pcrf: Server | None, database: Server | None) -> list[Step]:
    """Authentication, update location, create session, CCR-I, session write; absent elements are skipped."""
    at_hss = [hss.ask, hss.ask] if hss is not None else []
    at_gateway = [gateway.create_session] if gateway is not None else []
    at_pcrf = [gateway.through(pcrf) if gateway is not None else pcrf.ask] if pcrf is not None else []
    at_database = [database.ask] if database is not None else []
    return list(chain(at_hss, at_gateway, at_pcrf, at_database))


def over(signalling: Signalling | None, messages: int) -> list[Step]:
    """So many MAP questions, one after another; none where there are no links."""
    return [signalling.ask] * messages if signalling is not None else []


class Procedure:
    """Takes handsets through the steps and tells how it ended.

    Args:
        steps: The transactions.
        done: Called with a handset behind the last step.
        failed: Called with a handset whose step failed; the rest are never taken.
    """

    def __init__(
        self, steps: Sequence[Step], done: Callable[[Handset], None], failed: Callable[[Handset], None]
    ) -> None:
        self._steps, self._done, self._failed = steps, done, failed

    def begin(self, handset: Handset) -> None:
        self._take(handset, 0)

    def _take(self, handset: Handset, index: int) -> None:
        if index == len(self._steps):
            self._done(handset)
        else:
            self._steps[index](lambda success: self._answered(handset, index, success))

    def _answered(self, handset: Handset, index: int, success: bool) -> None:
        if success:
            self._take(handset, index + 1)
        else:
            self._failed(handset)
