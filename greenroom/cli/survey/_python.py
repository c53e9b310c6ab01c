"""What the text of one Python file shows: its size, functions, missing documentation, markers, patterns, imports.

Rule 1: the file is parsed, never run. Rule 2: what cannot be parsed is counted and named with the reason.
Must not know: where the text came from; whether it is all of the file is passed in.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Final

import attrs

from greenroom.cli.survey._facts import FileFacts, Marker, Measured, Named, Spotted
from greenroom.cli.survey._paths import dotted_path, is_test, may_print
from greenroom.cli.survey._patterns import CHECKS, Around, blocks_of

LONG_FUNCTION_LINES: Final = 60
MOST_MEASURED: Final = 10
MOST_LISTED: Final = 40
"""Markers, patterns or names of one file that a report lists; the rest is counted."""
MARKER_WORDS: Final = ("TODO", "FIXME", "XXX", "HACK", "BUG")

_WORDS: Final = "|".join(MARKER_WORDS)
# The first word of a comment, or followed by a colon or a name in parentheses: else it is a word of a sentence.
_MARKER: Final = re.compile(rf"(?:^[#\s!*-]*({_WORDS})\b|\b({_WORDS})(?= ?:|\())[:\s]*(.*)")
_ACCEPTED: Final = re.compile(r"#.*\b(noqa|nosec)\b", re.IGNORECASE)
_TEXT_CHARACTERS: Final = 160
_DECIDING: Final = frozenset({
    *(ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.Assert),
    *(ast.comprehension, ast.match_case),
})  # fmt: skip
"""With each of these a function has one branch more."""
_QUIET_DECORATORS: Final = frozenset({"overload", "override", "setter", "deleter"})


def survey_python(path: str, lines: Sequence[str], problem: str = "") -> FileFacts:
    """Return the facts of a Python file.

    Args:
        path: As the report shows it; decides what is a test, a package or a script.
        lines: The text, as far as it was read.
        problem: Why `lines` is not the whole file, if it is not.
    """
    facts = FileFacts(path=path, lines=len(lines), code_lines=sum(map(_is_code, lines)), problem=problem)
    tree = _parse(lines)
    if isinstance(tree, str):
        return _unparsed(facts, tree, lines)
    try:
        return _facts_of(facts, tree, lines)
    except RecursionError:
        return _unparsed(facts, "it is nested too deeply", lines)


def _unparsed(facts: FileFacts, why: str, lines: Sequence[str]) -> FileFacts:
    markers = tuple(_plain_markers(lines))
    problem = facts.problem or f"not parsed: {why}"
    return attrs.evolve(facts, markers=markers[:MOST_LISTED], marker_count=len(markers), problem=problem)


def _facts_of(facts: FileFacts, tree: ast.Module, lines: Sequence[str]) -> FileFacts:
    path = facts.path
    reader = _Reader(path, lines, tree)
    reader.visit(tree)
    markers = tuple(_markers(lines, reader.spans))
    longest = sorted(reader.measured, key=lambda one: (-one.lines, one.line))
    is_package = PurePosixPath(path).name == "__init__.py"
    return attrs.evolve(
        facts,
        functions=len(reader.measured),
        classes=reader.classes,
        public=reader.public,
        undocumented=tuple(reader.undocumented[:MOST_LISTED]),
        undocumented_count=len(reader.undocumented),
        measured=tuple(longest[:MOST_MEASURED]),
        long_count=sum(one.lines > LONG_FUNCTION_LINES for one in longest),
        markers=markers[:MOST_LISTED],
        marker_count=len(markers),
        spotted=tuple(sorted(reader.spotted, key=lambda one: (one.line, one.kind))[:MOST_LISTED]),
        spotted_count=len(reader.spotted),
        accepted_count=reader.accepted,
        imports=tuple(sorted(reader.imports)) if is_package or is_test(path) else (),
    )


def _is_code(line: str) -> bool:
    text = line.strip()
    return bool(text) and not text.startswith("#")


def _parse(lines: Sequence[str]) -> ast.Module | str:
    """Return the syntax tree, or why there is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a doubtful escape in somebody else's file is no concern of this program
            return ast.parse("\n".join(lines) + "\n")
    except SyntaxError as error:
        return f"line {error.lineno}: {error.msg}" if error.lineno else str(error.msg)
    except (RecursionError, MemoryError):
        return "it is nested too deeply"
    except ValueError as error:
        return str(error)


@attrs.frozen
class _Span:
    first: int
    last: int
    name: str


class _Reader(ast.NodeVisitor):
    """Goes through a tree once and collects."""

    def __init__(self, path: str, lines: Sequence[str], tree: ast.Module) -> None:
        self.classes = 0
        self.public = 0
        self.accepted = 0
        self.measured: list[Measured] = []
        self.undocumented: list[Named] = []
        self.spotted: list[Spotted] = []
        self.imports: set[str] = set()
        self.spans: list[_Span] = []
        self._lines = lines
        self._path = path
        self._within: list[str] = []
        self._is_public = True
        self._decisions = 0
        self._around = Around(
            names=dict(_imported_names(tree)),
            is_async=False,
            may_print=may_print(path) or _is_script(tree, lines),
            may_star=PurePosixPath(path).name == "__init__.py",
            is_test=is_test(path),
        )

    def visit(self, node: ast.AST) -> None:
        """Check a node, then go on below it."""
        if isinstance(node, ast.BoolOp):
            self._decisions += len(node.values) - 1
        elif type(node) in _DECIDING:
            self._decisions += 1
        check = CHECKS.get(type(node))
        if check is not None:
            for kind, place in check(node, self._around):
                self._spot(kind, getattr(place, "lineno", 1))
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._visit_function(node)
            case ast.ClassDef():
                self._visit_class(node)
            case ast.Import():
                self.imports.update(alias.name for alias in node.names)
            case ast.ImportFrom():
                self._visit_import_from(node)
            case _:
                self.generic_visit(node)

    def _spot(self, kind: str, line: int) -> None:
        text = self._lines[line - 1] if line <= len(self._lines) else ""
        if _ACCEPTED.search(text):
            self.accepted += 1
        else:
            self.spotted.append(Spotted(line, kind, shortened(text)))

    def _visit_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        name = ".".join([*self._within, node.name])
        first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
        last = node.end_lineno or node.lineno
        self._document(node, name)
        outer, place, before = self._around, len(self.measured), self._decisions
        self._around = attrs.evolve(outer, is_async=isinstance(node, ast.AsyncFunctionDef))
        # What is defined inside a function is nobody's to document.
        self._go_below(node, first, last, is_public=False)
        self._around = outer
        # From its `def`, where the report says that it is; decorators are no part of its length.
        branches = 1 + self._decisions - before
        self.measured.insert(place, Measured(node.lineno, name, last - node.lineno + 1, branches))

    def _visit_class(self, node: ast.ClassDef) -> None:
        self.classes += 1
        self._document(node, ".".join([*self._within, node.name]))
        is_public = self._is_public and not node.name.startswith("_")
        self._go_below(node, node.lineno, node.end_lineno or node.lineno, is_public=is_public)

    def _go_below(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, first: int, last: int, *, is_public: bool
    ) -> None:
        was_public, self._is_public = self._is_public, is_public
        self._within.append(node.name)
        self.spans.append(_Span(first, last, ".".join(self._within)))
        self.generic_visit(node)
        self._within.pop()
        self._is_public = was_public

    def _document(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, name: str) -> None:
        decorators = {ast.unparse(one).rpartition(".")[2] for one in node.decorator_list}
        if not self._is_public or node.name.startswith("_") or decorators & _QUIET_DECORATORS:
            return
        self.public += 1
        if ast.get_docstring(node, clean=False) is None:
            self.undocumented.append(Named(node.lineno, name))

    def _visit_import_from(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        if node.level:
            above = dotted_path(self._path).split(".")
            if PurePosixPath(self._path).name == "__init__.py" and above != [""]:
                above.append("")
            module = ".".join([*above[: max(0, len(above) - node.level)], *([module] if module else [])])
        if module:
            self.imports.add(module)
        self.imports.update(f"{module}.{alias.name}".strip(".") for alias in node.names if alias.name != "*")


def _imported_names(tree: ast.Module) -> Iterator[tuple[str, str]]:
    nodes: list[ast.AST] = [tree]
    for node in nodes:
        nodes += blocks_of(node)
        match node:
            case ast.Import():
                for alias in node.names:
                    first = alias.name.partition(".")[0]
                    yield alias.asname or first, alias.name if alias.asname else first
            case ast.ImportFrom(module=str(module), level=0):
                for alias in node.names:
                    yield alias.asname or alias.name, f"{module}.{alias.name}"
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.AsyncFunctionDef(name=name):
                # A function called `print` is not the builtin one.
                yield name, f"?{name}"


def _is_script(tree: ast.Module, lines: Sequence[str]) -> bool:
    if lines and lines[0].startswith("#!"):
        return True
    guards = [ast.unparse(node.test) for node in tree.body if isinstance(node, ast.If)]
    return any("__name__" in guard and "__main__" in guard for guard in guards)


def _markers(lines: Sequence[str], spans: Sequence[_Span]) -> Iterator[Marker]:
    """Yield the markers in comments, each with the innermost function or class around it."""
    if not any(re.search(_WORDS, line) for line in lines):
        return  # the tokenizer is slow, and most files have none
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO("\n".join(lines) + "\n").readline))
    except (tokenize.TokenError, SyntaxError):  # what the parser took, the tokenizer may refuse
        yield from _plain_markers(lines)
        return
    for token in tokens:
        found = _MARKER.search(token.string) if token.type == tokenize.COMMENT else None
        if found:
            line = token.start[0]
            around = [span for span in spans if span.first <= line <= span.last]
            within = max(around, key=lambda span: span.first).name if around else ""
            yield Marker(line, found[1] or found[2], shortened(_with_next(lines, line, found[3])), within)


def _with_next(lines: Sequence[str], line: int, text: str) -> str:
    """Return a marker's text with the comment line that goes on with its sentence, if there is one."""
    following = lines[line].strip() if line < len(lines) else ""
    is_comment = following.startswith("#") and lines[line - 1].strip().startswith("#")
    if not is_comment or text.rstrip().endswith((".", "!", "?")) or re.search(rf"\b({_WORDS})\b", following):
        return text
    return f"{text.rstrip()} {following.lstrip('# ')}"


def _plain_markers(lines: Sequence[str]) -> Iterator[Marker]:
    for number, line in enumerate(lines, 1):
        found = _MARKER.search(line[line.index("#") :]) if "#" in line else None
        if found:
            yield Marker(number, found[1] or found[2], shortened(found[3]), "")


def shortened(text: str, most: int = _TEXT_CHARACTERS) -> str:
    """Return a line of text without space around it, cut where it is long."""
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
