import pytest

from signalstorm.envs.model.errors import InputError
from signalstorm.experiments.training_file import list_trainings, load_training, parse_training


@pytest.mark.parametrize("name", list_trainings())
def test_packaged_trainings_are_right(name: str) -> None:
    training = load_training(name)
    assert training.environment is not None
    assert training.description


def test_all_faults_are_reported_at_once() -> None:
    text = "timesteps: 0\nrows: 128\nlearning: {gamma: 2, epoch: 3}\nstorms: [5, 20000]\n"
    with pytest.raises(InputError) as failure:
        parse_training(text, "mine.yaml")
    for word in ("timesteps", "gamma", "epoch", "mine.yaml:3"):
        assert word in str(failure.value)


def test_storms_that_judge_are_never_trained_on() -> None:
    with pytest.raises(InputError, match="10000"):
        parse_training("storms: [0, 10001]", "mine.yaml")
    assert parse_training("rows: 64\nlearning: {batch_size: 1024}", "mine.yaml").judged_on.start == 10_000


def test_a_batch_must_divide_what_is_gathered() -> None:
    with pytest.raises(InputError, match="batch_size must divide"):
        parse_training("rows: 10", "mine.yaml")


def test_unknown_names_suggest_the_nearest() -> None:
    with pytest.raises(InputError, match="attach-lte-easy"):
        load_training("atach-lte-easy")
    with pytest.raises(InputError, match="cannot be read"):
        load_training("./nowhere.yaml")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rows: 1\nlearning: {steps: 1, batch_size: 1}", "batch_size: must be at least 2"),
        ("rows: 1\nlearning: {steps: 1, batch_size: 2}", "Gather at least 2 steps"),
        ("rows: 10", "Such as 640"),
    ],
)
def test_what_the_library_cannot_learn_from_is_refused(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse_training(text, "mine.yaml")


def test_rules_over_several_keys_are_reported_together() -> None:
    with pytest.raises(InputError) as failure:
        parse_training("rows: 10\nstorms: [5, 20000]", "mine.yaml")
    assert {fault.key for fault in failure.value.faults} == {"storms", "learning.batch_size"}
