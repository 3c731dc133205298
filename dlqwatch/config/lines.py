"""On which line a key of a TOML file stands. tomllib, which has read the file, doesn't say.

So the text is known to be valid, and the scanner may trust it: it only follows the nesting.
"""

from __future__ import annotations

import re

KeyPath = tuple[str | int, ...]

_BLANK = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_KEY = re.compile(r"""[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*'""")
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}(?!")' r"|'''.*?'{3,5}(?!')" r"""|"(?:[^"\\]|\\.)*"|'[^']*'""", re.S
)
_SCALAR = re.compile(r"[^,\]}#\n]+")


def key_lines(text: str) -> dict[KeyPath, int]:
    """The line (from 1) of every key, table and list element of a valid TOML text."""
    return _Scanner(text).scan()


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.lines: dict[KeyPath, int] = {}
        self.last: dict[KeyPath, int] = {}  # of each [[table]], the index of its last element

    def scan(self) -> dict[KeyPath, int]:
        table: KeyPath = ()
        self._blank()
        while self.at < len(self.text):
            if self._take("[["):
                table = self._header(array=True)
            elif self._take("["):
                table = self._header(array=False)
            else:
                self._pair(table)
            self._blank()
        return self.lines

    def _header(self, *, array: bool) -> KeyPath:
        line = self._line()
        path: KeyPath = ()
        names = self._names()
        for position, name in enumerate(names):
            path = (*path, name)
            self.lines.setdefault(path, line)
            if array and position == len(names) - 1:
                self.last[path] = self.last.get(path, -1) + 1
            if path in self.last:
                path = (*path, self.last[path])
                self.lines.setdefault(path, line)
        self._blank()
        self._take("]]" if array else "]")
        return path

    def _pair(self, table: KeyPath) -> None:
        line = self._line()
        path = table
        for name in self._names():
            path = (*path, name)
            self.lines.setdefault(path, line)
        self._blank()
        self._take("=")
        self._value(path)

    def _names(self) -> list[str]:
        names: list[str] = []
        while True:
            self._blank()
            match = _KEY.match(self.text, self.at)
            if match is None:  # can't be, in a valid text: step on rather than stand still
                self.at += 1
                return names
            self.at = match.end()
            names.append(match[0].strip("\"'"))
            self._blank()
            if not self._take("."):
                return names

    def _value(self, path: KeyPath) -> None:
        self._blank()
        if self._take("["):
            index = 0
            while not self._closed("]"):
                self.lines.setdefault((*path, index), self._line())
                self._value((*path, index))
                index += 1
        elif self._take("{"):
            while not self._closed("}"):
                self._pair(path)
        else:
            pattern = _STRING if self.text[self.at : self.at + 1] in ("'", '"') else _SCALAR
            match = pattern.match(self.text, self.at)
            self.at = match.end() if match else self.at + 1

    def _closed(self, mark: str) -> bool:
        self._blank()
        self._take(",")
        self._blank()
        return self._take(mark) or self.at >= len(self.text)

    def _take(self, mark: str) -> bool:
        if self.text.startswith(mark, self.at):
            self.at += len(mark)
            return True
        return False

    def _blank(self) -> None:
        match = _BLANK.match(self.text, self.at)
        if match:
            self.at = match.end()

    def _line(self) -> int:
        return self.text.count("\n", 0, self.at) + 1
