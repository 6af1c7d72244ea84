"""Sharing out the tiles of a batch to threads."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache


def available_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def share_out(work: Callable[[int], None], count: int, threads: int) -> None:
    """Do a piece of work for each number below ``count``; a thread that is done with one takes the next.

    The calling thread works as well: waking a thread takes longer than a tile of a small network.

    Args:
        work: Does one piece; it must let go of the interpreter's lock.
        count: Pieces.
        threads: Threads at most.
    """
    numbers = iter(range(count))
    helpers = [_pool(threads).submit(_work_off, work, numbers) for _ in range(min(threads, count) - 1)]
    try:
        _work_off(work, numbers)
    finally:
        for helper in helpers:
            helper.result()


def _work_off(work: Callable[[int], None], numbers: Iterator[int]) -> None:
    for number in numbers:
        work(number)


@lru_cache(maxsize=4)
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="signalstorm")
