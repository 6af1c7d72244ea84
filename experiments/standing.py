"""How far a search has come: trials so far, and the best of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from signalstorm.experiments.trials import Trial

Watch = Callable[[Sequence[Trial]], None]
"""Shown all finished trials of a search, the present setting included."""


@dataclass(frozen=True)
class Standing:
    """How far a search has come."""

    trials: int
    """Finished trials."""
    feasible: int
    """Those that are worse than the present setting on none of their storms, and keep every limit."""
    present_s: float | None
    """What the present setting came to [s]; None before its storms have run."""
    best: Trial | None
    """The best feasible trial; the present setting where none is better."""

    @property
    def words(self) -> str:
        """The standing in one line."""
        if self.best is None or self.present_s is None:
            return "no trial is finished yet"
        found = f"best {self.best.value_s:,.1f} s against {self.present_s:,.1f} s at present"
        return f"{found}; {self.feasible} of {self.trials} trials are feasible"


def standing(trials: Sequence[Trial]) -> Standing:
    """Return how far a search has come."""
    present = next((trial.value_s for trial in trials if trial.present), None)
    eligible = [trial for trial in trials if trial.feasible or trial.present]
    best = min(eligible, key=lambda trial: (trial.value_s, trial.number), default=None)
    return Standing(len(trials), sum(trial.feasible for trial in trials), present, best)


def best_so_far(trials: Sequence[Trial]) -> list[float | None]:
    """Return for each trial the value of the best feasible one up to it [s]; None before the first."""
    values: list[float | None] = []
    best: float | None = None
    for trial in trials:
        if (trial.feasible or trial.present) and (best is None or trial.value_s < best):
            best = trial.value_s
        values.append(best)
    return values
