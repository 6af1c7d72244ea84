"""Reads a StarOS running configuration, whatever a terminal, a pager or an editor has done to it.

The block of a line follows from indentation, or from the ``exit`` lines where a copy has lost its indentation: the
file is read both ways, and the reading counts that leaves fewer known commands outside their mode.
"""

import os
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from operator import ne

from signalstorm.envs.model.errors import wrong_input
from signalstorm.envs.model.knob_table import KNOBS, KnobValue
from signalstorm.experiments.imports import grammar, text
from signalstorm.experiments.imports.command_table import COMMANDS
from signalstorm.experiments.imports.command_values import IllegalError, defaults_of, knobs_of, values_of
from signalstorm.experiments.imports.configuration import Configuration, Mode, Modes, Statement, Trouble
from signalstorm.experiments.imports.grammar import MME_GATE, OPENERS, ROOT, SGSN_GATE, Command
from signalstorm.experiments.imports.lookalikes import lookalikes
from signalstorm.experiments.imports.text import Line, Text
from signalstorm.experiments.imports.troubles import troubles_of

_UNKNOWN_KEPT = 200
"""Unknown lines of which the text is kept."""
_JOINED = 3
"""A command may have been broken into so many lines more by the width of a terminal."""
_EXIT = re.compile(r"#?\s?exit", re.IGNORECASE)
_BACK = re.compile(r"(?P<word>no|default) (?P<rest>\S.*)", re.IGNORECASE)
_FOREIGN = (grammar.OTHER, grammar.SERVICE)
_OPENERS = [(opener, re.compile(rf"{opener.form.pattern}(?: -noconfirm)?", re.IGNORECASE)) for opener in OPENERS]
_FORMS = {id(command): re.compile(command.form.pattern, re.IGNORECASE) for command in COMMANDS}
_BY_WORD: dict[str, list[Command]] = defaultdict(list)
for _one in COMMANDS:
    _BY_WORD[_one.head.split()[0].lower()].append(_one)
_OPENING_WORDS = {
    word for opener, _ in _OPENERS for word in re.findall(r"(?<![\\(?<P\w])[a-z0-9-]{3,}", opener.form.pattern)
}
_KNOB_HEADS = {
    command.head.lower(): command
    for command in COMMANDS
    if not command.common and (command.head in (MME_GATE, SGSN_GATE) or any(key in KNOBS for key in command.quantities))
}
_MARKED = re.compile(rf"[^a-z]{{1,30}}({'|'.join(map(re.escape, _KNOB_HEADS))})(?= |$)")
_HEADS = sorted(_KNOB_HEADS)
_SHORTEST = min(map(len, _HEADS))
_BROKEN = 20
"""A line of so many characters that a knob's command begins with is a part of one."""


def read(path: str | os.PathLike[str]) -> Configuration:
    """Read a running configuration, or an export of this program.

    Raises:
        InputError: If the file cannot be read, or holds no command that is known.
    """
    return parse(text.read(path))


def parse(source: Text) -> Configuration:
    """Understand the lines of a running configuration.

    Raises:
        InputError: If they hold no command that is known.
    """
    indented = _Reader(source.lines, by_indent=True)
    chosen = indented
    if indented.misplaced:
        by_exit = _Reader(source.lines, by_indent=False)
        if by_exit.misplaced < indented.misplaced:
            chosen = by_exit
            chosen.notes.append("blocks follow the exit lines: the indentation contradicts them")
    if not chosen.statements and not chosen.troubles:
        rule = "holds no command of a StarOS running configuration that is known here"
        raise wrong_input(rule, way_out="give the output of `show configuration`", file=source.file)
    if source.cut:
        chosen.doubt_last(source.lines[-1])
    alike = lookalikes(chosen.unknown[:_UNKNOWN_KEPT], _HEADS)
    notes = (*source.notes, *chosen.notes, *chosen.open_at_end(), *alike)
    found = Configuration(
        file=source.file,
        statements=tuple(chosen.statements),
        blocks=tuple(chosen.blocks),
        troubles=(),
        unknown=tuple(chosen.unknown[:_UNKNOWN_KEPT]),
        unknown_count=len(chosen.unknown),
        notes=notes,
        whole=chosen.whole,
        variants=chosen.variants,
    )
    return replace(found, troubles=(*chosen.troubles, *troubles_of(found)))


class _Block:
    """A mode that was entered."""

    __slots__ = ("indent", "kind", "line", "name")

    def __init__(self, kind: str, name: str, indent: int, line: int) -> None:
        self.kind, self.name, self.indent, self.line = kind, name, indent, line


class _Reader:
    """One reading of the lines."""

    def __init__(self, lines: Sequence[Line], *, by_indent: bool) -> None:
        self.statements: list[Statement] = []
        self.blocks: list[tuple[int, Modes]] = []
        self.troubles: list[Trouble] = []
        self.unknown: list[Line] = []
        self.notes: list[str] = []
        self.variants: dict[str, str] = {}
        self.misplaced = 0
        self._by_indent = by_indent
        self._stack: list[_Block] = [_Block(ROOT, "", -1, 0)]
        self._began = self._ended = False
        self._widest = max((line.width for line in lines), default=0)
        self._joined: list[str] = []
        i = 0
        while i < len(lines):
            i += self._take(lines, i)
        if self._joined:
            self.notes.append(f"lines broken by a terminal's width were joined: {', '.join(self._joined)}")

    @property
    def whole(self) -> bool:
        """Whether the file begins with ``config`` and ends with ``end``."""
        return self._began and self._ended

    def open_at_end(self) -> Iterator[str]:
        """Yield notes if the file seems to be a part only."""
        if not self.whole:
            yield "does not begin with `config` and end with `end`: nothing is concluded from what it leaves out"
        if len(self._stack) > 1 and not self._ended:
            path = " > ".join(f"{block.kind} {block.name}".rstrip() for block in self._stack[1:])
            yield f"ends inside {path} (from line {self._stack[-1].line} on) without `end`: is the file whole?"

    def doubt_last(self, line: Line) -> None:
        """Note a command on a last line without line end: a number or an option of it may be missing."""
        last = self.statements[-1] if self.statements else None
        if last is None or last.line != line.number or not (set(last.values) & set(KNOBS)):
            return
        rule = f"may be cut: the file ends without a line end after {last.text[-60:]!r}"
        way_out = "copy the line once more from the box, or end it if it is whole"
        self.troubles.append(Trouble("damaged", (line.number,), last.slot, rule, way_out, tuple(last.values)))

    def _take(self, lines: Sequence[Line], i: int) -> int:
        """Read a line, and return how many lines that took."""
        line = lines[i]
        words = line.text
        if self._by_indent:
            self._leave(line.indent)
        if _EXIT.fullmatch(words):
            if not self._by_indent and len(self._stack) > 1:
                self._stack.pop()
            return 1
        if words[0] in "#!":
            return 1
        if words.lower() in ("config", "end", "configure"):
            del self._stack[1:]
            self._ended = words.lower() == "end"
            self._began |= not (self._ended or self.statements)
            return 1
        first = words.split(" ", 1)[0].lower()
        if first in _OPENING_WORDS and self._enter(line):
            return 1
        back = _BACK.fullmatch(words) if first in ("no", "default") else None
        known = self._known(back["rest"] if back else words)
        if not known:
            begun = _begun(back["rest"] if back else words)
            if begun is not None:
                return self._broken(lines, i, begun)
            meant = _meant(words)
            if meant is not None:
                return self._damaged(line, [meant])
            self.unknown.append(line)
            return 1
        placed = [command for command in known if self._reach(command.modes) is not None]
        if not placed:
            return self._outside(line, known)
        if back:
            self._add(line, placed[0], None, words)
            return 1
        return self._whole(lines, i, placed)

    def _whole(self, lines: Sequence[Line], i: int, placed: Sequence[Command]) -> int:
        """Read a known command with the lines that it was broken into; return how many."""
        line = lines[i]
        most = 1
        while most <= _JOINED and i + most < len(lines) and not self._stands_alone(lines[i + most].text):
            most += 1
        longest: tuple[int, list[tuple[Command, re.Match[str], str]]] | None = None
        for count in range(1, most + 1):
            matches = list(self._matches(lines[i : i + count], placed))
            longest = (count, matches) if matches else longest
            if matches and any(_FORMS[id(matches[0][0])].fullmatch(f"{matches[0][2]}{more}") for more in (" ~", "~")):
                break  # it would take whatever follows
        if longest is None:
            return self._damaged(line, placed)
        count, matches = longest
        command, match, joined = matches[0]
        if len({words for _, _, words in matches}) > 1 or (count == 1 and self._goes_on(lines, i, command)):
            return self._damaged(line, placed)  # with a blank at the break or without it, or with more than is known
        self._note_joined(line, count)
        self._add(line, command, match, joined)
        return count

    def _matches(
        self, parts: Sequence[Line], placed: Sequence[Command]
    ) -> Iterator[tuple[Command, re.Match[str], str]]:
        """Yield the legal commands that lines are together."""
        for joined in _together(parts):
            for command in placed:
                match = _FORMS[id(command)].fullmatch(joined)
                if match:
                    yield command, match, joined
                    break

    def _goes_on(self, lines: Sequence[Line], i: int, command: Command) -> bool:
        """Tell whether a complete command seems to go on: it fills the listing's width, and a scrap follows it."""
        following = lines[i + 1] if i + 1 < len(lines) else None
        return (
            not command.common
            and following is not None
            and lines[i].width >= self._widest - 1
            and lines[i].indent > 1 >= following.indent
            and following.number == lines[i].number + 1
            and not self._stands_alone(following.text)
        )

    def _broken(self, lines: Sequence[Line], i: int, begun: Command) -> int:
        """Read a knob's command that was broken inside of the words by which it is known; return how many lines."""
        line = lines[i]
        for count in range(2, min(_JOINED + 1, len(lines) - i) + 1):
            for joined in _together(lines[i : i + count]):
                back = _BACK.fullmatch(joined)
                if self._known(back["rest"] if back else joined):
                    self._note_joined(line, count)
                    rest = lines[i + count : i + count + _JOINED]
                    return count - 1 + self._take([line._replace(text=joined), *rest], 0)
        if len(line.text) >= _BROKEN:
            return self._damaged(line, [begun])
        self.unknown.append(line)
        return 1

    def _note_joined(self, line: Line, count: int) -> None:
        if count > 1 and str(line.number) not in self._joined:
            self._joined.append(str(line.number))

    def _stands_alone(self, words: str) -> bool:
        """Tell whether a line is a command, or enters or leaves a mode, and so is no rest of the line before."""
        if words[0] in "#!" or _EXIT.fullmatch(words) or words.lower() in ("config", "end", "configure"):
            return True
        back = _BACK.fullmatch(words)
        known = self._known(back["rest"] if back else words)
        if any(not command.common or self._reach(command.modes) is not None for command in known):
            return True
        entering = words.split(" ", 1)[0].lower() in _OPENING_WORDS
        return entering and any(form.fullmatch(words) for _, form in _OPENERS)

    def _leave(self, indent: int) -> None:
        """Leave the blocks that a line of this indentation cannot be inside of."""
        while len(self._stack) > 1 and indent <= self._stack[-1].indent:
            self._stack.pop()

    def _enter(self, line: Line) -> bool:
        for opener, form in _OPENERS:
            match = form.fullmatch(line.text)
            depth = self._reach(opener.inside) if match else None
            if match is None or depth is None:
                continue
            if opener.mode in _FOREIGN and self._known(line.text):
                continue
            self._ended = False
            del self._stack[depth + 1 :]
            name = _bare(match.groupdict().get("name") or "")
            if match.groupdict().get("variant"):
                self.variants[name] = match["variant"]
            self._stack.append(_Block(opener.mode, name, line.indent, line.number))
            if opener.mode not in _FOREIGN:
                self.blocks.append((line.number, self._modes()))
            return True
        return False

    def _known(self, words: str) -> list[Command]:
        lowered = words.lower()
        return [
            command
            for command in _BY_WORD.get(lowered.split(" ", 1)[0], ())
            if lowered == command.head.lower() or lowered.startswith(command.head.lower() + " ")
        ]

    def _reach(self, modes: Sequence[str]) -> int | None:
        """Return the depth of the innermost block of one of these modes; inner blocks had no ``exit``."""
        for depth in range(len(self._stack) - 1, -1, -1):
            if self._stack[depth].kind in modes:
                return depth
            if self._stack[depth].kind in _FOREIGN and self._by_indent:
                return None  # what stands in a foreign block, by its indentation, belongs to it
        return None

    def _add(self, line: Line, command: Command, match: re.Match[str] | None, words: str) -> None:
        self._ended = False
        depth = self._reach(command.modes)
        if depth is not None:
            del self._stack[depth + 1 :]
        modes = self._modes()
        if match is None:
            if command.head in ("associate", "congestion-control"):
                values: dict[str, KnobValue] = {}
            else:
                values = defaults_of(command)
            slot = command.head if command.head == "associate" else command.slot
            shown = ", ".join(f"{key} = {value}" for key, value in values.items()) or "the box's default"
            self.statements.append(Statement(line.number, modes, words, slot, values, shown))
            return
        groups = {key: value.lower() for key, value in match.groupdict().items() if value is not None}
        slot = command.slot.format_map(defaultdict(str, groups)).strip()
        try:
            values, shown = values_of(command, groups)
        except IllegalError as error:
            knobs = knobs_of(command)
            way_out = "correct the line, or see on the box what is in force"
            self.troubles.append(Trouble("illegal", (line.number,), command.head, str(error), way_out, knobs))
            return
        self.statements.append(Statement(line.number, modes, words, slot, values, shown))

    def _outside(self, line: Line, known: Sequence[Command]) -> int:
        """Note a command whose mode is not open; many modes have commands that begin with common words."""
        if all(command.common for command in known) or self._stack[-1].kind == grammar.SERVICE:
            self.unknown.append(line)
            return 1
        self.misplaced += 1
        command = known[0]
        rule = f"stands outside of {' and '.join(command.modes)}, where it belongs"
        way_out = "see whether lines are missing above it"
        self.troubles.append(Trouble("misplaced", (line.number,), command.head, rule, way_out, knobs_of(command)))
        return 1

    def _damaged(self, line: Line, placed: Sequence[Command]) -> int:
        if all(command.common for command in placed):
            self.unknown.append(line)
            return 1
        command = placed[0]
        shown = line.text if len(line.text) <= 60 else f"{line.text[:57]}..."
        rule = f"is cut or garbled, or of a form that is not known: {shown!r}"
        way_out = "copy the line once more from the box, from a wider terminal if it was broken there"
        self.troubles.append(Trouble("damaged", (line.number,), command.head, rule, way_out, knobs_of(command)))
        return 1

    def _modes(self) -> Modes:
        return tuple(Mode(block.kind, block.name) for block in self._stack[1:])


def _together(parts: Sequence[Line]) -> list[str]:
    """Return the words of lines that may be one, with a blank at the breaks and without."""
    joined = [parts[0].text]
    for part in parts[1:]:
        joined = [f"{before}{glue}{part.text}" for before in joined for glue in (" ", "")]
    return joined


def _begun(words: str) -> Command | None:
    """Return the command of a knob of whose head a line is the beginning only."""
    lowered = words.lower()
    at = bisect_left(_HEADS, lowered)
    return _KNOB_HEADS[_HEADS[at]] if at < len(_HEADS) and _HEADS[at].startswith(lowered) else None


def _meant(words: str) -> Command | None:
    """Return the command of a knob that a line would be but for what stands before it, or for one wrong character.

    Such a line is a piece of a diff, of a listing with numbers, or garbled; to call it unknown would be to conclude
    that the box has the default.
    """
    lowered = words.lower()
    if len(lowered) < _SHORTEST:
        return None
    marked = _MARKED.match(lowered)
    for head, command in _KNOB_HEADS.items():
        half, end = len(head) // 2, len(head)
        if marked and marked[1] == head:
            return command
        if lowered[end : end + 1] not in ("", " ") or not (
            lowered[:half] == head[:half] or lowered[half:end] == head[half:]
        ):
            continue
        if sum(map(ne, lowered[:end], head)) == 1:
            return command
    return None


def _bare(name: str) -> str:
    """Return a name without quotes, however they are nested."""
    return name.replace('"', "").replace("'", "").strip()
