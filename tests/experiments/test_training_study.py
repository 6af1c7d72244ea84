import pytest

from signalstorm.envs.model.errors import InputError
from signalstorm.experiments.training_file import TrainingFile
from signalstorm.experiments.training_space import PARAMETERS, training_space
from signalstorm.experiments.training_study import (
    ParameterRange,
    TrainingStudy,
    list_training_studies,
    load_training_study,
    parse_training_study,
)


@pytest.mark.parametrize("name", list_training_studies())
def test_packaged_studies_are_right(name: str) -> None:
    assert load_training_study(name).description


def test_every_default_can_be_searched_and_no_seed_serves_twice() -> None:
    study = TrainingStudy()
    space = training_space(TrainingFile(), study.parameters)
    assert space.knobs == tuple(PARAMETERS)
    assert set(space.distributions) == set(PARAMETERS)
    assert space.present_point is not None
    assert space.setting(space.present_point) == {}
    seeds = (*study.search_seeds, *study.choice_seeds, *study.last_seeds)
    assert len(set(seeds)) == len(seeds)


def test_all_faults_are_reported_at_once() -> None:
    text = "trials: 3\nparameters: {gamma: {lo: 1}}\nseeds: {count: 0}\nobjective: speed\npruner: {kind: wilcoxon}\n"
    with pytest.raises(InputError) as failure:
        parse_training_study(text, "mine.yaml")
    for word in ("mine.yaml:1: trials", "gamma.lo", "seeds.count", "objective", "pruner.kind"):
        assert word in str(failure.value)
    with pytest.raises(InputError, match="at least one hyper-parameter"):
        parse_training_study("parameters: {}\n", "mine.yaml")


def test_all_wrong_ranges_are_reported_at_once() -> None:
    parameters = {
        "gama": None,
        "gamma": ParameterRange(low=0.5),
        "steps": ParameterRange(low=8),
        "hidden": ParameterRange(choices=(64,)),
        "batch_size": ParameterRange(choices=((64, 64),)),
        "epochs": ParameterRange(choices=(3,)),
    }
    with pytest.raises(InputError) as failure:
        training_space(TrainingFile(), parameters)
    message = str(failure.value)
    for words in ("Did you mean gamma", "within 0.9 to 0.9999", "takes single values", "layers such as", "whole"):
        assert words in message
    assert message.count("\n") == 5


def test_a_range_of_one_value_is_searched_like_any_other() -> None:
    space = training_space(TrainingFile(), {"gamma": ParameterRange(low=0.97, high=0.97)})
    assert space.present_point is None
    assert space.setting({"gamma": 0.97}) == {"gamma": 0.97}


def test_points_become_legal_trainings() -> None:
    base = TrainingFile.model_validate({"rows": 24, "learning": {"steps": 64, "batch_size": 768}})
    space = training_space(base, {"steps": None, "batch_size": None, "hidden": None, "learning_rate": None})
    setting = space.setting({"steps": "16", "batch_size": "512", "hidden": "64x64", "learning_rate": 0.00123456})
    assert setting == {"learning_rate": 0.001235, "steps": "16", "batch_size": "384"}
    training = space.training(setting, 7)
    assert (training.learning.steps, training.learning.batch_size, training.seed) == (16, 384, 7)
    # Evaluations stay at the same numbers of steps.
    assert training.evaluation.every * training.learning.steps == base.evaluation.every * base.learning.steps
    assert space.training(space.setting({"steps": "64", "hidden": "32x32"})).learning.hidden == (32, 32)
