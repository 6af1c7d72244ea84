"""YAML as plain data: what each way of writing a value means, and on which line its key stands."""

import contextlib
import math
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from signalstorm.envs.model import yaml_lines

texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]))
plain_data = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=10,
)


def value(text: str) -> Any:
    found, _, findings = yaml_lines.read(text)
    assert findings == []
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5", 5),
        ("-5", -5),
        ("+5", 5),
        ("1_000", 1000),
        ("0", 0),
        ("5.", 5.0),
        (".5", 0.5),
        ("1e6", 1e6),
        ("1.25e8", 1.25e8),
        ("-1.5E-3", -1.5e-3),
        ("1_000.5", 1000.5),
        (".inf", math.inf),
        ("-.inf", -math.inf),
        ("1e999", math.inf),
        ("017", "017"),
        ("0x1F", "0x1F"),
        ("12:30", "12:30"),
        ("2012-01-25", "2012-01-25"),
        ("'5'", "5"),
        ('"off"', "off"),
        ("off", False),
        ("true", True),
        ("null", None),
        ("~", None),
        ("=", "="),
        ("1.2.3", "1.2.3"),
        ("[3, 4.5]", [3, 4.5]),
        ("{a: 1, 2: x}", {"a": 1, "2": "x"}),
        ("9" * 5000, "9" * 5000),
    ],
)
def test_values(text: str, expected: Any) -> None:
    found = value(text)
    assert found == expected
    assert type(found) is type(expected)


def test_nan_is_a_number() -> None:
    assert math.isnan(value(".nan"))


@given(data=plain_data)
def test_what_is_written_is_read_back_here_and_elsewhere(data: Any) -> None:
    text = yaml_lines.write(data)
    assert value(text) == data
    assert yaml.safe_load(text) == data


@given(text=st.text())
def test_no_text_breaks_the_reader(text: str) -> None:
    with contextlib.suppress(yaml_lines.YamlError):
        yaml_lines.read(text)


def test_lines_are_those_of_the_keys() -> None:
    _, lines, _ = yaml_lines.read("# c\na:\n  - b: >-\n      long\n      text\n    c:\n      1\n  - {d: 2}\n\ne: 3\n")
    assert lines == {
        (): 2,
        ("a",): 2,
        ("a", 0): 3,
        ("a", 0, "b"): 3,
        ("a", 0, "c"): 6,
        ("a", 1): 8,
        ("a", 1, "d"): 8,
        ("e",): 10,
    }


def test_keys_must_be_words() -> None:
    _, _, findings = yaml_lines.read("a: 1\n? [b]\n: 2\n")
    assert [finding.rule for finding in findings] == ["has a key on line 2 that is no word"]


def test_an_option_takes_a_value_and_no_tag() -> None:
    assert yaml_lines.read_value("[1, 2]") == [1, 2]
    with pytest.raises(yaml_lines.YamlError, match="tags are not allowed"):
        yaml_lines.read_value("!!python/name:os.system")
