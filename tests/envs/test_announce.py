import logging
from collections.abc import Iterator

import pytest

from signalstorm.envs.announce import announce_compiling

PACKAGE, MODEL = logging.getLogger("signalstorm"), logging.getLogger("signalstorm.envs.model.batch")


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    kept = [(logger, logger.level, logger.handlers, logger.propagate) for logger in (PACKAGE, MODEL)]
    yield
    for logger, level, handlers, propagate in kept:
        logger.setLevel(level)
        logger.handlers, logger.propagate = handlers, propagate


def fresh_process(level: int = logging.NOTSET) -> None:
    """Nobody has set up logging, and the handlers of the tests are out of the way."""
    for logger in (PACKAGE, MODEL):
        logger.setLevel(logging.NOTSET)
        logger.handlers = []
    PACKAGE.propagate = False
    PACKAGE.setLevel(level)


def test_the_model_is_heard_once_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    fresh_process()
    announce_compiling()
    announce_compiling()
    MODEL.info("compiling the model")
    assert capsys.readouterr() == ("", "signalstorm.envs.model.batch: compiling the model\n")


@pytest.mark.parametrize("level", [logging.WARNING, logging.ERROR, logging.INFO])
def test_who_has_said_what_to_hear_is_left_alone(level: int) -> None:
    fresh_process(level)
    announce_compiling()
    assert (MODEL.level, MODEL.handlers) == (logging.NOTSET, [])


def test_handlers_of_the_process_are_used(capsys: pytest.CaptureFixture[str]) -> None:
    fresh_process()
    heard: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: heard.append(record.getMessage())  # type: ignore[method-assign]
    PACKAGE.addHandler(handler)
    announce_compiling()
    MODEL.info("compiling the model")
    assert heard == ["compiling the model"]
    assert capsys.readouterr().err == ""
