"""The order of the tests, and signals as tests expect them."""

import signal

import pytest

# Where a shell has started the tests in the background, SIGINT is ignored, and so it would be in every child.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the model's tests first and those that need a browser last.

    A failure of the lowest layer explains those above it. And the kernels are then compiled in these processes,
    where coverage sees their lines, and not in a child that a later test starts and perhaps kills.
    """
    items.sort(
        key=lambda item: (
            item.get_closest_marker("browser") is not None,
            "tests/envs/model/" not in item.path.as_posix(),
        )
    )
