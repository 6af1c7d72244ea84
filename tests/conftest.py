"""The order of the tests."""

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the model's tests first and those that need a browser last.

    A failure of the lowest layer explains those above it. And the kernels are then compiled in this process,
    where coverage sees their lines, and not in a child that a later test starts and perhaps kills.
    """
    items.sort(
        key=lambda item: (
            item.get_closest_marker("browser") is not None,
            "tests/envs/model/" not in item.path.as_posix(),
        )
    )
