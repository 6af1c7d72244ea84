"""Pieces of work shared out to threads: each is done once, and what goes wrong in one is heard."""

import threading

import pytest

from signalstorm.envs.model.workers import share_out


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_each_piece_is_done_once(threads: int) -> None:
    done: list[int] = []
    share_out(done.append, 17, threads)
    assert sorted(done) == list(range(17))


def test_threads_work_at_the_same_time_and_the_caller_is_one_of_them() -> None:
    barrier = threading.Barrier(2, timeout=30.0)
    names: list[str] = []

    def work(_: int) -> None:
        barrier.wait()  # goes on only once two are in it
        names.append(threading.current_thread().name)

    share_out(work, 2, 2)
    assert len(set(names)) == 2
    assert threading.current_thread().name in names


@pytest.mark.parametrize("failing", [0, 1])
def test_a_failure_of_any_thread_is_raised(failing: int) -> None:
    barrier = threading.Barrier(2, timeout=30.0)

    def work(number: int) -> None:
        barrier.wait()
        if number == failing:
            raise ValueError("piece")

    with pytest.raises(ValueError, match="piece"):
        share_out(work, 2, 2)
