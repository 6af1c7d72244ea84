"""Our figures on Optuna's dashboard, where that is installed."""

import logging
import warnings
from importlib.util import find_spec

import optuna
from optuna.exceptions import ExperimentalWarning

from signalstorm.experiments.recommendation import Recommendation
from signalstorm.experiments.report.drawing import Figure
from signalstorm.experiments.report.figures import storm_grid
from signalstorm.experiments.report.knob_figures import interaction_map, pareto_front

_log = logging.getLogger(__name__)


def figures(record: Recommendation) -> dict[str, tuple[str, Figure]]:
    """Return titles and figures of a recommendation, by a name that is legal as an HTML id."""
    found = {
        "held-out-storms": (
            "T on held-out storms, recommended over present",
            storm_grid(record.held_out.storms, record.held_out.horizon_s),
        )
    }
    if record.interaction is not None:
        words = " and ".join(record.interaction.knobs)
        found["interaction"] = (f"Mean cost of storms [s] over {words}", interaction_map(record.interaction))
    if record.pareto and len(record.pareto) > 1:
        found["pareto"] = (
            "Settings of which none is better in everything",
            pareto_front(record.pareto, {**record.recommended, **record.override}),
        )
    return found


def attach(study: optuna.Study, record: Recommendation, objectives: tuple[str, ...]) -> bool:
    """Attach the figures of a recommendation and the names of the objectives to a study.

    Args:
        study: The study, in any store.
        record: What its search has found.
        objectives: Names of the objectives.

    Returns:
        Whether the dashboard is installed.
    """
    if find_spec("optuna_dashboard") is None:
        return False
    import plotly.graph_objects as go
    from optuna_dashboard import save_plotly_graph_object

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)
        study.set_metric_names(list(objectives))
    for name, (title, figure) in figures(record).items():
        drawn = go.Figure(figure)
        drawn.update_layout(title=title, paper_bgcolor="white", plot_bgcolor="white", margin={"t": 80})
        save_plotly_graph_object(study, drawn, graph_object_id=name)
    _log.debug("figures attached for optuna-dashboard")
    return True
