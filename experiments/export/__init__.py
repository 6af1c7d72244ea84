"""Recommendations in the languages of network elements and people, one file per target."""

import logging
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from signalstorm.envs.model.errors import ABSENT, Fault, InputError, Shown, wrong_input
from signalstorm.envs.model.files import write_together
from signalstorm.envs.model.wording import nearest
from signalstorm.experiments.export import against as boxes
from signalstorm.experiments.export import record, releases, runbook, staros, vdra
from signalstorm.experiments.export.releases import RELEASES, Release
from signalstorm.experiments.export.rule_page import Followed
from signalstorm.experiments.export.source import NotBetterError, Recommended, Source, read
from signalstorm.experiments.imports import staros as importer
from signalstorm.experiments.imports.configuration import Configuration

__all__ = ["RELEASES", "TARGETS", "NotBetterError", "export", "preview", "write"]

_LOG = logging.getLogger(__name__)

Files = Mapping[str, str | bytes]
"""What a target writes, by the file's name."""


@dataclass(frozen=True)
class Options:
    """How an export is written."""

    release: Release
    """The StarOS release."""
    names: Mapping[str, str]
    """Names of objects, see `commands.NAMES`."""
    columns: str | os.PathLike[str] | None
    """The map of the vDRA's columns; None: the one that comes with the package."""
    rule: Followed | None = None
    """The rule that the runbook offers first."""


TARGETS: dict[str, Callable[[Source, Options], Files]] = {
    "staros": lambda source, options: staros.files(source, options.release, options.names),
    "vdra": lambda source, options: vdra.files(source, options.names, options.columns),
    "runbook": lambda source, options: runbook.files(source, options.release, options.names, options.rule),
    "json": lambda source, options: record.files(source, options.release, options.names, options.rule),
}
"""By name of the target: what returns its files, by their names."""

_SOMETIMES = {"staros": (staros.GATEWAY, staros.GATEWAY_ROLLBACK)}
"""Files that not every export has; an older one must not stay behind."""


def write(
    recommendation: Recommended,
    out: str | os.PathLike[str],
    targets: Iterable[str] = ("staros", "json"),
    release: str | int | None = None,
    force: bool = False,
    names: Mapping[str, str] | None = None,
    columns: str | os.PathLike[str] | None = None,
    against: str | os.PathLike[str] | None = None,
    rule: Followed | None = None,
) -> list[Path]:
    """Write a recommended setting in the language of each target; nothing is written if anything is wrong.

    Args:
        recommendation: The record, its content, a ``recommendation.json`` or the folder of a run.
        out: The folder for the files; made where it is missing. Older files of these names are replaced.
        targets: Names from `TARGETS`.
        release: The StarOS release, one of `RELEASES`; None: the forms of 17 and later.
        force: Export what is worse than the present setting on a held-out storm, or was changed after the search;
            the files say so first.
        names: Names of contexts and services, such as ``{"mme-service": "mme1"}``; see `commands.NAMES`.
        columns: A YAML file with the names of the vDRA's columns, as an export of vdra writes it.
        against: A running configuration of the box: the commands then start from its values, name its objects, and
            take its associations one at a time; a diff says which of its lines change.
        rule: The rule that the runbook offers first, see `experiments.followed.find`.

    Returns:
        The files written.

    Raises:
        NotBetterError: If the setting is worse than the present one on a held-out storm, without `force`.
        InputError: If the recommendation, a setting in it, a target, the release or a name is wrong, or if it was
            changed after the search, without `force`.
        OSError: If a file cannot be written.
    """
    wanted = list(dict.fromkeys(targets))
    for target in wanted:
        if target not in TARGETS:
            raise wrong_input("must be a target of export", target, nearest(target, TARGETS), key="target")
    known = releases.find(release)
    source, named, box = _for_box(recommendation, names, against)
    if not force:
        _refuse(source)
    texts: dict[str, str | bytes] = {}
    for target in wanted:
        texts |= TARGETS[target](source, Options(known, named, columns, rule))
    if box is not None and "staros" in wanted:
        texts[boxes.DIFF] = boxes.difference(box, texts)
    folder = Path(out)
    write_together({folder / name: text for name, text in texts.items()})
    for name in (name for target in wanted for name in _SOMETIMES.get(target, ()) if name not in texts):
        (folder / name).unlink(missing_ok=True)
    _LOG.info("exported the setting for %s to %s", source.record.scenario.name, folder)
    return [folder / name for name in texts]


def preview(
    recommendation: Recommended,
    release: str | int | None = None,
    names: Mapping[str, str] | None = None,
    against: str | os.PathLike[str] | None = None,
    rule: Followed | None = None,
) -> dict[str, Any]:
    """Return what an export would say, in JSON's own types, without writing anything.

    Raises:
        InputError: As `write`.
    """
    source, named, _ = _for_box(recommendation, names, against)
    return record.record(source, releases.find(release), named, rule)


export = write
"""The name under which `signalstorm` shows `write`."""


def _for_box(
    recommendation: Recommended, names: Mapping[str, str] | None, against: str | os.PathLike[str] | None
) -> tuple[Source, dict[str, str], Configuration | None]:
    """Read a recommendation, and make it one for a box where its configuration is given."""
    source, named = read(recommendation), dict(names or {})
    staros.check_names(named)
    if against is None:
        return source, named, None
    box = importer.read(against)
    return *boxes.for_box(source, box, named), box


def _refuse(source: Source) -> None:
    """Raise the error for a recommendation that only `force` exports."""
    way_out = "--force exports it all the same"
    if source.altered:
        rule = "must be as the search wrote it, or its evidence may not be that of its setting"
        raise wrong_input(rule, Shown(f"changes in {', '.join(source.altered)}"), way_out, file=source.origin)
    if source.differs:
        rule = "must be of the box that was compared, or the evidence does not hold for it"
        again = f"tune again from its setting; {way_out}"
        raise InputError(Fault(source.origin, None, "", f"{rule}: {one}", ABSENT, again) for one in source.differs)
    if not source.never_worse:
        worst = source.record.held_out.worst_ratio
        shown = ABSENT if worst is None else Shown(f"a worst ratio of {worst:.3f}")
        rule = "must not be worse than the present setting on any held-out storm"
        raise NotBetterError([Fault(source.origin, None, "recommended", rule, shown, way_out)])
