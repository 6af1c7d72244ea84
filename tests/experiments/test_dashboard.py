"""Our figures on Optuna's dashboard."""

import optuna
import pytest

from signalstorm.experiments.dashboard import attach, figures
from signalstorm.experiments.recommendation import Recommendation
from tests.experiments.recommendation_data import recommendation

INTERACTION = {
    "knobs": ["nop_rate", "nop_action"], "units": ["per s", ""], "first": [50, 60],
    "second": ["drop", "reject-congestion"], "storms": 4, "value_s": [[31.5, 32.0], [None, 30.0]],
}  # fmt: skip
PARETO = [
    {"trial": 0, "override": {}, "values": {"time": 90.0, "refused_share": 0.1}},
    {"trial": 7, "override": {"nop_rate": 60}, "values": {"time": 30.0, "refused_share": 0.4}},
]


def _record() -> Recommendation:
    return Recommendation.model_validate(recommendation(interaction=INTERACTION, pareto=PARETO))


def test_there_is_a_figure_for_everything_that_is_known() -> None:
    assert set(figures(_record())) == {"held-out-storms", "interaction", "pareto"}
    assert set(figures(Recommendation.model_validate(recommendation()))) == {"held-out-storms"}


def test_the_map_has_a_hole_where_two_values_are_not_legal_together() -> None:
    _, figure = figures(_record())["interaction"]
    (trace,) = figure["data"]
    assert trace["z"] == [[31.5, 32.0], [None, 30.0]]
    assert trace["y"] == ["50", "60"]
    assert figure["layout"]["yaxis"]["title"]["text"] == "nop_rate [per s]"


def test_figures_are_attached_to_the_study() -> None:
    pytest.importorskip("optuna_dashboard", reason="pip install 'signalstorm[web]'")
    storage = optuna.storages.InMemoryStorage()
    study = optuna.create_study(storage=storage, study_name="a")
    assert attach(study, _record(), ("time",))
    attributes = storage.get_study_system_attrs(storage.get_study_id_from_name("a"))
    assert all(any(name in key for key in attributes) for name in ("held-out-storms", "interaction", "pareto"))
    assert attributes["study:metric_names"] == ["time"]
