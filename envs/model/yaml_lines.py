"""YAML as plain data, with the line of every key.

Values mean what ``yaml.safe_load`` makes of them, with two differences in favour of people: ``1e6`` is a
number and ``12:30`` is text, where YAML 1.1 reads text and the number 750. Keys that stand twice, tags and
aliases are refused.
"""

import math
import re
from typing import Any, cast

import yaml

from signalstorm.envs.model.errors import ABSENT, Finding, Path, Shown

_FLOAT = re.compile(
    r"^[-+]?(?:(?:\d[\d_]*\.[\d_]*|\.\d[\d_]*)(?:[eE][-+]?\d+)?|\d[\d_]*[eE][-+]?\d+|\.(?:inf|Inf|INF))$"
    r"|^\.(?:nan|NaN|NAN)$"
)
_INT = re.compile(r"^[-+]?(?:0|[1-9][\d_]*)$")
_DEEPEST = 50
_MAP, _LIST = "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"
_SCALARS = {f"tag:yaml.org,2002:{kind}" for kind in ("str", "int", "float", "bool", "null")}


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers = {  # noqa: RUF012  (PyYAML's way)
        first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith((":int", ":float", ":timestamp"))]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Compose a node; an alias is refused, for a few of them can stand for gigabytes."""
        if self.check_event(yaml.AliasEvent):
            event = self.get_event()  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(
                problem=f"aliases (*{event.anchor}) are not allowed", problem_mark=event.start_mark
            )
        return super().compose_node(parent, index)


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
    loader = None
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        lines: dict[Path, int] = {}
        findings: list[Finding] = []
        data = None if node is None else _plain(loader, node, (), lines, findings)
        return data, lines, findings
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = " ".join(part for part in (error.context, error.problem) if part)
        way_out = "write the values out instead" if "aliases" in problem else "mend the YAML at that place"
        raise YamlError(f"is no valid YAML: {problem}", mark.line + 1 if mark else None, way_out) from None
    except yaml.reader.ReaderError as error:
        raise YamlError(f"is no valid YAML: {error.reason}", None, "save it as plain UTF-8 text") from None
    except RecursionError:
        raise YamlError("is nested too deeply", None, "a file of this kind needs five levels") from None
    finally:
        if loader is not None:
            loader.dispose()


def write(data: Any) -> str:
    """Return data as YAML that `read` and ``yaml.safe_load`` both read as the same data."""
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110, default_flow_style=None)


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
) -> Any:
    lines.setdefault(path, node.start_mark.line + 1)
    if len(path) > _DEEPEST:
        raise YamlError("is nested too deeply", node.start_mark.line + 1, "a file of this kind needs five levels")
    if isinstance(node, yaml.MappingNode):
        if node.tag != _MAP:
            findings.append(_tag(node, path))
        return _plain_mapping(loader, node, path, lines, findings)
    if isinstance(node, yaml.SequenceNode):
        if node.tag != _LIST:
            findings.append(_tag(node, path))
        return [_plain(loader, item, (*path, number), lines, findings) for number, item in enumerate(node.value)]
    return _scalar(loader, cast(yaml.ScalarNode, node), path, findings)


def _plain_mapping(
    loader: _Loader,
    node: yaml.MappingNode,
    path: Path,
    lines: dict[Path, int],
    findings: list[Finding],
) -> dict[str, Any]:
    data: dict[str, Any] = {}
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        if not isinstance(key_node, yaml.ScalarNode):
            findings.append(Finding(path, f"has a key on line {line} that is no word", ABSENT, "use plain words"))
            continue
        key = str(key_node.value)
        if key in data:
            first = lines[(*path, key)]
            lines[(*path, key)] = line
            rule = f"this key stands twice, first on line {first}"
            findings.append(Finding((*path, key), rule, ABSENT, "leave one of them out"))
            continue
        lines[(*path, key)] = line
        data[key] = _plain(loader, value_node, (*path, key), lines, findings)
    return data


def _scalar(loader: _Loader, node: yaml.ScalarNode, path: Path, findings: list[Finding]) -> Any:
    plain = node.style is None
    implied: str = loader.resolve(yaml.ScalarNode, node.value, (plain, not plain))  # type: ignore[no-untyped-call]
    if node.tag != implied:
        findings.append(_tag(node, path))
    if node.tag != implied or implied not in _SCALARS:
        return node.value
    try:
        if implied.endswith(":float"):
            return _float(node.value)
        return loader.construct_object(node)
    except ValueError:  # thousands of digits
        return node.value


def _float(text: str) -> float:
    word = text.lower()
    return math.nan if word == ".nan" else float(word.replace(".inf", "inf"))


def _tag(node: yaml.Node, path: Path) -> Finding:
    shown = Shown(node.tag.replace("tag:yaml.org,2002:", "!!"))
    return Finding(path, "tags are not allowed", shown, "write the value without a tag")
