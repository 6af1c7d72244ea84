"""From when T counts, in words, and times of day past midnight."""

from signalstorm.envs.model.scenario_file import load
from signalstorm.experiments.clock import counted, counted_of, time_of_day


def test_it_is_said_by_the_clock_where_there_is_one() -> None:
    assert counted_of(load("incident-2014")) == (
        "T counts from 08:00, 5,700 s after the scenario's start at 06:25; "
        "the horizon is at 14:25, which is T = 23,100 s."
    )
    assert counted("23:00", 0.0, 7200.0) == "T counts from 23:00; the horizon is at 01:00, which is T = 7,200 s."


def test_it_is_said_in_seconds_where_there_is_none() -> None:
    assert counted_of(load("lab-pcrf")) == "T counts from the scenario's start; the horizon is at T = 600 s."
    assert counted(None, 60.0, 540.0) == "T counts from 60 s after the scenario's start; the horizon is at T = 540 s."


def test_times_of_day_start_again_at_midnight() -> None:
    assert time_of_day(86_400.0 + 61.9) == "00:01"
    assert time_of_day(86_399.0, to_seconds=True) == "23:59:59"
