"""The attach procedure: transactions one after another, until one fails or none is left."""

from collections.abc import Callable, Sequence
from itertools import chain

from tests.reference.gateway import Gateway
from tests.reference.handset import Handset
from tests.reference.observer import Observer
from tests.reference.server import Answer, Server

Step = Callable[[Answer], None]


def eps_attach(hss: Server | None, gateway: Gateway | None, pcrf: Server | None, database: Server | None) -> list[Step]:
    """Authentication, update location, create session, CCR-I, session write; absent elements are skipped."""
    at_hss = [hss.ask, hss.ask] if hss is not None else []
    at_gateway = [gateway.create_session] if gateway is not None else []
    at_pcrf = [gateway.through(pcrf) if gateway is not None else pcrf.ask] if pcrf is not None else []
    at_database = [database.ask] if database is not None else []
    return list(chain(at_hss, at_gateway, at_pcrf, at_database))


class Procedure:
    """Takes admitted handsets through the steps and tells them how it ended."""

    def __init__(self, observer: Observer, steps: Sequence[Step]) -> None:
        self._observer, self._steps = observer, steps

    def begin(self, handset: Handset) -> None:
        self._take(handset, 0)

    def _take(self, handset: Handset, index: int) -> None:
        if index == len(self._steps):
            self._observer.outcome(handset.accepted())
        else:
            self._steps[index](lambda success: self._answered(handset, index, success))

    def _answered(self, handset: Handset, index: int, success: bool) -> None:
        if success:
            self._take(handset, index + 1)
        else:
            self._observer.outcome(False)
            handset.refused()
