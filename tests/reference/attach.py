"""Procedures: transactions one after another, until one fails or none is left."""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain

from tests.reference.credit import Question
from tests.reference.gateway import Gateway
from tests.reference.handset import Handset
from tests.reference.links import Signalling
from tests.reference.server import Answer, Server

Step = Callable[[Answer], None]

GPRS_ATTACH = 4  # authentication information, IMEI check, update location, insert data (TS 23.060 6.5)
GPRS_REFRESH = 2  # update location, insert data (TS 23.007)


def eps_attach(
    servers: Mapping[str, Server], gateway: Gateway | None, questions: Sequence[Question]
) -> tuple[list[Step], int]:
    """Attach request, authentication, update location, create session, CCR-I, Gy, session write.

    Absent elements are skipped. The number is how many steps a broken handset takes: to the HSS's first answer.
    """
    at_mme = [servers["mme"].ask] if "mme" in servers else []
    at_hss = [servers["hss"].ask] * 2 if "hss" in servers else []
    at_gateway = [gateway.create_session] if gateway is not None else []
    asked = [gateway.through(each) if gateway is not None else each.ask for each in questions]
    at_database = [servers["database"].ask] if "database" in servers else []
    broken = len(at_mme) + 1 if at_hss else 0
    return list(chain(at_mme, at_hss, at_gateway, asked, at_database)), broken


def over(signalling: Signalling | None, messages: int) -> list[Step]:
    """So many MAP questions, one after another; none where there are no links."""
    return [signalling.ask] * messages if signalling is not None else []


class Procedure:
    """Takes handsets through the steps and tells how it ended.

    Args:
        steps: The transactions.
        done: Called with a handset behind the last step.
        failed: Called with a handset whose step failed; the rest are never taken.
        broken: Steps that a broken handset takes before it fails.
    """

    def __init__(
        self,
        steps: Sequence[Step],
        done: Callable[[Handset], None],
        failed: Callable[[Handset], None],
        broken: int = 0,
    ) -> None:
        self._steps, self._done, self._failed, self._broken = steps, done, failed, broken

    def begin(self, handset: Handset) -> None:
        self._take(handset, 0)

    def _take(self, handset: Handset, index: int) -> None:
        if handset.broken and index == self._broken:
            self._failed(handset)
        elif index == len(self._steps):
            self._done(handset)
        else:
            self._steps[index](lambda success: self._answered(handset, index, success))

    def _answered(self, handset: Handset, index: int, success: bool) -> None:
        if success:
            self._take(handset, index + 1)
        else:
            self._failed(handset)
