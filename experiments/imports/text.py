"""Text as it comes off a terminal: any encoding and line end, with the pager's and the terminal's marks taken out."""

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

from signalstorm.envs.model.errors import wrong_input

MOST_BYTES = 200_000_000
"""A larger file is refused: it would not fit the memory of a small machine."""

_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|[@-Z\\-_])")
_PAGER = re.compile(r"(?:<?-{1,}\s*\(?\s*more\s*\)?\s*-{1,}>?|\(END\))[\x08 \r]*", re.IGNORECASE)
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200b\u200e\u200f\u2060\ufeff]")
_PROMPT = re.compile(r"\[[^\]\s]{1,60}\]\S{1,80}[#>](?:\s|$)")
_SESSION = re.compile(r"\s*\[[^\]\s]{1,60}\][^\s()]{1,80}\([^()\s]{1,60}\)# ?")
"""A prompt of a configuration mode, after which a command was entered."""
_TYPOGRAPHY = str.maketrans(
    {
        "\xa0": " ",
        "\u201c": '"',
        "\u201d": '"',
        "\u2018": "'",
        "\u2019": "'",
        "\u2010": "-",
        "\u2011": "-",
        "\u2013": "-",
    }
)
_TAB = 8


class Line(NamedTuple):
    """A line with text on it."""

    number: int
    """Its number in the file, from 1 on."""
    indent: int
    """Blanks in front of the text, tabs counted as up to 8."""
    text: str
    """The text, with single blanks between words."""
    raw: str
    """The text with its blanks and tabs."""
    width: int = 0
    """Columns that it takes, blanks at both ends included."""


@dataclass(frozen=True)
class Text:
    """A file's lines, and what had to be mended to read them."""

    file: str
    """What messages call the file."""
    lines: tuple[Line, ...]
    """The lines that are not blank."""
    notes: tuple[str, ...]
    """What was mended, in words."""
    cut: bool = False
    """Whether the last line has no line end, so that it may have been cut."""


def read(path: str | os.PathLike[str]) -> Text:
    """Read a text file.

    Raises:
        InputError: If it cannot be read, or is too large.
    """
    file = Path(path)
    try:
        mode = file.stat().st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
            raise wrong_input("is no file", way_out="give a file or a pipe", file=str(file))
        with file.open("rb") as stream:
            return clean(take(stream, str(file)), str(file))
    except OSError as error:
        raise wrong_input(
            f"cannot be read: {error.strerror}", way_out="give an existing file", file=str(file)
        ) from None


def take(stream: BinaryIO, file: str) -> bytes:
    """Read a stream to its end.

    Raises:
        InputError: If it is too long; one without an end is read no further than that.
    """
    content = stream.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise wrong_input(f"must be at most {MOST_BYTES / 1e6:g} MB", way_out="cut it", file=file)
    return content


def clean(content: bytes, file: str) -> Text:
    """Turn what a file holds into lines.

    Args:
        content: The bytes.
        file: What messages call the file.
    """
    text, notes = _decoded(content)
    if "\n" not in text and "\r" in text:
        text = text.replace("\r", "\n")
        notes.append("lines end with a carriage return only")
    elif "\r\n" in text:
        notes.append("Windows line ends")
    pages = prompts = 0
    lines: list[Line] = []
    for number, raw in enumerate(text.split("\n"), 1):
        if not raw or raw.isspace():
            continue
        line = raw.translate(_TYPOGRAPHY)
        if "\x1b" in line:
            line = _ESCAPES.sub("", line)
        if "-" in line or "(END)" in line:
            line, count = _PAGER.subn("", line)
            pages += count
        for part in line.split("\r"):
            bare = _CONTROLS.sub("", part)
            shown = bare.expandtabs(_TAB)
            width = len(shown)
            if "[" in shown and (session := _SESSION.match(shown)):
                prompts += 1
                shown = bare = shown[session.end() :]
            words = shown.split()
            if not words:
                continue
            if _PROMPT.match(words[0] + " "):
                prompts += 1
                continue
            lines.append(Line(number, len(shown) - len(shown.lstrip()), " ".join(words), bare.strip(" "), width))
    if pages:
        notes.append(f"{pages} marks of a pager taken out")
    if prompts:
        notes.append(f"{prompts} prompts skipped")
    return Text(file, tuple(lines), tuple(notes), cut=not text.endswith("\n"))


def _decoded(content: bytes) -> tuple[str, list[str]]:
    """Decode by the byte order mark, else by the pattern of zero bytes, else UTF-8, else Windows-1252."""
    for mark, encoding, name in (
        (b"\xef\xbb\xbf", "utf-8-sig", "UTF-8 with a byte order mark"),
        (b"\xff\xfe", "utf-16", "UTF-16"),
        (b"\xfe\xff", "utf-16", "UTF-16"),
    ):
        if content.startswith(mark):
            return content.decode(encoding, "replace"), [f"read as {name}"]
    head = content[:4096]
    if head and head.count(0) > len(head) // 4:
        encoding = "utf-16-le" if head[1::2].count(0) >= head[::2].count(0) else "utf-16-be"
        return content.decode(encoding, "replace"), ["read as UTF-16, by its zero bytes"]
    try:
        return content.decode(), []
    except UnicodeDecodeError as error:
        at = content.count(b"\n", 0, error.start) + 1
        return content.decode("cp1252", "replace"), [f"read as Windows-1252: line {at} is not UTF-8"]
