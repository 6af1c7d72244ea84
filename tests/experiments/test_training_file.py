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
        parse_training("rows: 10\nlearning: {batch_size: 2048}", "mine.yaml")


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("rows: 16", 1024),
        ("rows: 16.0", 1024),
        ("rows: 48", 1536),
        ("rows: 7\nlearning: {steps: 11, gamma: 0.9}", 77),
        ("learning: {steps: 32}", 2048),
        ("rows: 256", 2048),
        ("rows: 16\nlearning: {batch_size: 64}", 64),
    ],
)
def test_a_batch_size_that_is_not_given_follows(text: str, size: int) -> None:
    assert parse_training(text, "mine.yaml").learning.batch_size == size


def test_a_batch_size_that_nothing_legal_follows_is_asked_for() -> None:
    with pytest.raises(
        InputError, match=r"which is 4099, but got 2048\. Take another number of rows .* a batch_size of 4099"
    ):
        parse_training("rows: 4099\nlearning: {steps: 1}", "mine.yaml")


@pytest.mark.parametrize(
    ("text", "key", "rule"),
    [
        ("learning: {hidden: [1000000000]}", "learning.hidden.0", "must be at most 2048"),
        ("learning: {hidden: [8, 8, 8, 8, 8, 8, 8, 8, 8]}", "learning.hidden", "must have at most 8 entries"),
        ("learning: {lstm: 1000000000}", "learning.lstm", "must be at most 2048"),
        ("learning: {epochs: 1000000000}", "learning.epochs", "must be at most 1000"),
        ("learning: {steps: 1000000000}", "learning.steps", "must be at most 65536"),
        ("rows: 1000000000", "rows", "must be at most 16384"),
        ("rows: .inf", "rows", "must be a"),
        ("rows: 16384\nlearning: {steps: 1024}", "learning.steps", "steps x rows must be at most 4,000,000"),
        ("seed: 5000000000", "seed", "must be at most 4,000,000,000"),
        (
            "warm_start: {law: pid, rounds: 3, storms: 9999}",
            "warm_start.storms",
            "rounds x storms must be at most 20,000",
        ),
        ("learning: {learning_rate: 1000}", "learning.learning_rate", "must be at most 1,"),
        ("learning: {log_std: 100}", "learning.log_std", "must be at most 5,"),
        ("timesteps: -5", "timesteps", "must be at least 1,"),
        ("timesteps: 0", "timesteps", "must be at least 1,"),
        ("warm_start: {law: pid, rounds: -1}", "warm_start.rounds", "must be at least 1,"),
        ("learning: {batch_size: -1}", "learning.batch_size", "must be at least 2,"),
    ],
)
def test_sizes_have_limits_that_messages_give_alike(text: str, key: str, rule: str) -> None:
    with pytest.raises(InputError, match=rule) as refused:
        parse_training(text, "mine.yaml")
    assert [fault.key for fault in refused.value.faults] == [key]


def test_layers_may_be_none() -> None:
    assert parse_training("learning: {hidden: []}", "mine.yaml").learning.hidden == ()


def test_unknown_names_suggest_the_nearest() -> None:
    with pytest.raises(InputError, match="attach-lte-easy"):
        load_training("atach-lte-easy")
    with pytest.raises(InputError, match="cannot be read"):
        load_training("./nowhere.yaml")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rows: 1\nlearning: {steps: 1, batch_size: 1}", "batch_size: must be at least 2"),
        ("rows: 1\nlearning: {steps: 1, batch_size: 2}", "steps x rows must be at least 2"),
        ("rows: 10\nlearning: {batch_size: 2000}", "Such as 640"),
    ],
)
def test_what_the_library_cannot_learn_from_is_refused(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse_training(text, "mine.yaml")


def test_rules_over_several_keys_are_reported_together() -> None:
    with pytest.raises(InputError) as failure:
        parse_training("rows: 10\nlearning: {batch_size: 2048}\nstorms: [5, 20000]", "mine.yaml")
    assert {fault.key for fault in failure.value.faults} == {"storms", "learning.batch_size"}
