"""YAML as plain data, with the line of every key.

Values mean what ``yaml.safe_load`` makes of them, with two differences in favour of people: ``1e6`` is a
number and ``12:30`` is text, where YAML 1.1 reads text and the number 750. Keys that stand twice, tags and
aliases are refused.
"""

import math
import re
from typing import Any

import yaml

from signalstorm.envs.model.errors import ABSENT, Finding, Path, Shown

_FLOAT = re.compile(
    r"^[-+]?(?:\d[\d_]*\.[\d_]*|\.\d[\d_]*|\d[\d_]*)(?:[eE][-+]?\d+)?$|^[-+]?\.(?:inf|Inf|INF)$|^\.(?:nan|NaN|NAN)$"
)
_INT = re.compile(r"^[-+]?(?:0|[1-9][\d_]*)$")
_DEEPEST = 50


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers = {  # noqa: RUF012  (PyYAML's way)
        first: [
            (tag, pattern) for tag, pattern in resolvers if not tag.endswith((":int", ":float", ":timestamp"))
        ]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


class _Dumper(yaml.SafeDumper):
    yaml_implicit_resolvers = {  # noqa: RUF012  (PyYAML's way)
        first: list(resolvers) for first, resolvers in yaml.SafeDumper.yaml_implicit_resolvers.items()
    }


for _class in (_Loader, _Dumper):
    _class.add_implicit_resolver("tag:yaml.org,2002:int", _INT, list("-+0123456789"))
    _class.add_implicit_resolver("tag:yaml.org,2002:float", _FLOAT, list("-+0123456789."))


class YamlError(Exception):
    """The text is not a YAML document that can be read; carries what is wrong and the line."""

    def __init__(self, rule: str, line: int | None, way_out: str) -> None:
        super().__init__(rule)
        self.rule = rule
        self.line = line
        self.way_out = way_out


def read(text: str) -> tuple[Any, dict[Path, int], list[Finding]]:
    """Read one document.

    Returns:
        The data; the line of each key, counted from 1, by path; what is wrong beside the syntax.

    Raises:
        YamlError: If the text is no single YAML document.
    """
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        lines: dict[Path, int] = {}
        findings: list[Finding] = []
        data = None if node is None else _plain(loader, node, (), lines, findings, set())
        return data, lines, findings
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = " ".join(part for part in (error.context, error.problem) if part)
        way_out = (
            "write the values out, without & and *" if "alias" in problem else "mend the YAML at that place"
        )
        raise YamlError(f"is no valid YAML: {problem}", mark.line + 1 if mark else None, way_out) from None
    except yaml.reader.ReaderError as error:
        raise YamlError(f"is no valid YAML: {error.reason}", None, "save it as plain UTF-8 text") from None
    except RecursionError:
        raise YamlError("is nested too deeply", None, "a file of this kind needs five levels") from None
    finally:
        loader.dispose()


def write(data: Any) -> str:
    """Return data as YAML that `read` and ``yaml.safe_load`` both read as the same data."""
    return yaml.dump(
        data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110, default_flow_style=None
    )


def read_value(text: str) -> Any:
    """Read the value of an option: a number, a word, true, false, null, or a list of these.

    Raises:
        YamlError: If the text is no value.
    """
    value, _, findings = read(text)
    if findings:
        raise YamlError(findings[0].rule, None, findings[0].way_out)
    return value


def _plain(
    loader: _Loader,
    node: yaml.Node,
    path: Path,
    lines: dict[Path, int],
    findings: list[Finding],
    above: set[int],
) -> Any:
    lines.setdefault(path, node.start_mark.line + 1)
    if id(node) in above or len(path) > _DEEPEST:
        raise YamlError(
            "is nested too deeply", node.start_mark.line + 1, "a file of this kind needs five levels"
        )
    if isinstance(node, yaml.MappingNode):
        _refuse_tag(node, "map", path, findings)
        return _plain_mapping(loader, node, path, lines, findings, above | {id(node)})
    if isinstance(node, yaml.SequenceNode):
        _refuse_tag(node, "seq", path, findings)
        return [
            _plain(loader, item, (*path, number), lines, findings, above | {id(node)})
            for number, item in enumerate(node.value)
        ]
    if not node.tag.startswith("tag:yaml.org,2002:") or node.tag.endswith(
        (":binary", ":timestamp", ":value")
    ):
        _refuse_tag(node, "str", path, findings)
        return node.value
    return _scalar(loader, node)


def _plain_mapping(
    loader: _Loader,
    node: yaml.MappingNode,
    path: Path,
    lines: dict[Path, int],
    findings: list[Finding],
    above: set[int],
) -> dict[str, Any]:
    data: dict[str, Any] = {}
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        if not isinstance(key_node, yaml.ScalarNode):
            findings.append(
                Finding(path, f"has a key on line {line} that is no word", ABSENT, "use plain words")
            )
            continue
        key = str(key_node.value)
        if key in data:
            first = lines[(*path, key)]
            lines[(*path, key)] = line
            rule = f"this key stands twice, first on line {first}"
            findings.append(Finding((*path, key), rule, ABSENT, "leave one of them out"))
            continue
        lines[(*path, key)] = line
        data[key] = _plain(loader, value_node, (*path, key), lines, findings, above)
    return data


def _scalar(loader: _Loader, node: yaml.Node) -> Any:
    if node.tag.endswith(":float"):
        text = str(node.value).replace("_", "").lower()
        return {".inf": math.inf, "+.inf": math.inf, "-.inf": -math.inf, ".nan": math.nan}.get(text) or float(
            text
        )
    return loader.construct_object(node)


def _refuse_tag(node: yaml.Node, expected: str, path: Path, findings: list[Finding]) -> None:
    if node.tag != f"tag:yaml.org,2002:{expected}":
        tag = node.tag.replace("tag:yaml.org,2002:", "!!")
        findings.append(Finding(path, "tags are not allowed", Shown(tag), "write the value without a tag"))
