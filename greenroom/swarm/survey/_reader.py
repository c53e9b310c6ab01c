"""A single walk over the syntax tree of one file that collects all facts about it.

What a check cannot know at its node (whether the file binds a name elsewhere) is settled at the end.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Final

import attrs

from greenroom.swarm.survey._around import Around, File, Function, Spot, blocks_of, own_nodes
from greenroom.swarm.survey._facts import Measured, Named
from greenroom.swarm.survey._module import coroutines_of
from greenroom.swarm.survey._paths import absolute_module, is_loose, is_test, may_print
from greenroom.swarm.survey._patterns import CHECKS
from greenroom.swarm.survey._statements import check_block, expects_error

_DECIDING: Final = frozenset({
    *(ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.Assert),
    *(ast.comprehension, ast.match_case),
})  # fmt: skip
"""With each of these a function has one branch more."""
_QUIET_DECORATORS: Final = frozenset({"overload", "override", "setter", "deleter"})
_PRINTING: Final = re.compile(r"cli|cmd|command|console|demo|display|log|output|print|progress|repl|script|term")
"""Names of functions that probably exist to print."""
_COMMAND_LINES: Final = frozenset({"argparse", "click", "cyclopts", "docopt", "fire", "optparse", "typer"})
_VERBOSE: Final = re.compile(r"verbose|debug|quiet|silent|trace|print|show", re.IGNORECASE)
_MAX_PRINTS: Final = 3
"""A file with more of them is there to print."""
_PRIVATE: Final = re.compile(r"_[^_]|internals?$")
_DOTTED: Final = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)(?::[\w.]+)?")
_LONGEST_NAME: Final = 120
# Fields that hold no node, or nodes that nothing asks about.
_LEAVES: Final = frozenset({"ctx", "op", "ops", "id", "attr", "type_comment", "kind", "conversion", "lineno", "level"})
_FIELDS: Final[Mapping[type[ast.AST], tuple[str, ...]]] = {
    kind: tuple(name for name in kind._fields if name not in _LEAVES)
    for kind in vars(ast).values()
    if isinstance(kind, type) and issubclass(kind, ast.AST)
}
# What is visited in a way of its own; all else, most nodes, is only gone through.
_FIRST: Final = frozenset({
    *(ast.Name, ast.arg, ast.Constant, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef),
    *(ast.Lambda, ast.If, ast.With, ast.AsyncWith, ast.Import, ast.ImportFrom),
})  # fmt: skip
_OTHERS: Final = frozenset({
    *(ast.BoolOp, ast.Attribute, ast.ExceptHandler, ast.MatchAs, ast.MatchStar, ast.Expr, ast.Call, ast.List),
    *(ast.Tuple, ast.JoinedStr),
})  # fmt: skip


@attrs.frozen
class Span:
    """The lines of a function or a class."""

    first: int
    last: int
    name: str


class Reader:
    """Goes through a tree once and collects."""

    def __init__(self, path: str, lines: Sequence[str], tree: ast.Module) -> None:
        self.classes = 0
        self.public = 0
        self.measured: list[Measured] = []
        self.undocumented: list[Named] = []
        self.imports: set[str] = set()
        self.strings: set[str] = set()
        """Texts that may name a module, as those for `mock.patch`, `import_module` and entry points do."""
        self.spans: list[Span] = []
        self._spots: list[Spot] = []
        self._bound: Counter[str] = Counter()
        self._prints = 0
        self._path = path
        self._is_test = is_test(path)
        self._within: list[str] = []
        self._is_public = True
        self._is_public_module = not any(_PRIVATE.match(part) for part in _own_parts(path))
        self._decisions = 0
        names = dict(_imported_names(tree))
        self._coroutines: list[frozenset[str]] = [coroutines_of(tree.body)]
        self._around = Around(
            file=File(
                path=path,
                lines=lines,
                names=names,
                is_test=self._is_test,
                is_product=not self._is_test and not is_loose(path),
                may_print=may_print(path)
                or _PRINTING.search(path.lower()) is not None
                or _is_script(tree, lines, names.values()),
                may_star=PurePosixPath(path).name == "__init__.py" or _only_hands_on(tree),
            )
        )

    def spots(self) -> Iterator[Spot]:
        """Yield what was found, once the tree has been visited."""
        for spot in self._spots:
            if spot.name and self._bound[spot.name] != spot.bindings:
                continue
            if spot.kind == "print" and self._prints > _MAX_PRINTS:
                continue
            yield spot

    def visit(self, node: ast.AST) -> None:
        """Check a node, then its descendants."""
        kind = type(node)
        if kind is ast.Name and type(getattr(node, "ctx", None)) is ast.Load:
            return  # a third of all nodes
        if kind in _DECIDING:
            self._decisions += 1
        checks = CHECKS.get(kind)
        if checks is not None:
            for check in checks:
                self._spots += check(node, self._around)
        if kind in _FIRST:
            self._visit_first(node)
        elif kind in _OTHERS:
            self._visit_other(node)
        else:
            self._below(node)

    def _visit_first(self, node: ast.AST) -> None:
        match node:
            case ast.Name(id=name) | ast.arg(arg=name):
                self._bound[name] += 1
                self._below(node)
            case ast.Constant(value=value):
                if isinstance(value, str) and len(value) < _LONGEST_NAME and (found := _DOTTED.fullmatch(value)):
                    self._note_module(found[1])
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._visit_function(node)
            case ast.ClassDef():
                self._visit_class(node)
            case ast.Lambda() | ast.If() | ast.With() | ast.AsyncWith():
                self._visit_around(node)
            case ast.Import() | ast.ImportFrom():
                self._visit_import(node)

    def _visit_other(self, node: ast.AST) -> None:
        match node:
            case ast.BoolOp(values=values):
                self._decisions += len(values) - 1
            case ast.Attribute(attr=name, ctx=ast.Store() | ast.Del()):
                self._bound[f".{name}"] += 1
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                self._bound[name] += 1
            case ast.Expr(value=ast.Call(func=function)):
                self._note_unawaited(node.lineno, function)
            case ast.Call(func=ast.Name(id="print")):
                self._prints += 1
            case ast.List(elts=parts) | ast.Tuple(elts=parts) if self._is_test:
                self._note_command(parts)
            case ast.JoinedStr(values=values):
                for value in values:
                    if isinstance(value, ast.FormattedValue):
                        self.visit(value.value)  # and not its format, which is an f-string of its own to the parser
                return
        self._below(node)

    def _below(self, node: ast.AST) -> None:
        for field in _FIELDS[type(node)]:
            below = getattr(node, field, None)
            if isinstance(below, list):
                self._visit_all(below)
            elif isinstance(below, ast.AST):
                self.visit(below)

    def _visit_all(self, below: Sequence[ast.AST]) -> None:
        if len(below) > 1 and not self._is_test and isinstance(below[0], ast.stmt):
            self._spots += check_block(below)  # type: ignore[arg-type] # the first says what the others are
        for node in below:
            if isinstance(node, ast.AST):
                self.visit(node)

    def _note_module(self, name: str) -> None:
        # A product that names modules of its own loads them at some time.
        if self._is_test or name.partition(".")[0] in self._path.split("/"):
            self.strings.add(name)

    def _note_command(self, parts: Sequence[ast.expr]) -> None:
        """Take note of `[..., "-m", "shop"]`, with which a test runs a package."""
        texts = [part.value if isinstance(part, ast.Constant) else None for part in parts]
        for option, name in pairwise(texts):
            if option == "-m" and isinstance(name, str):
                self.strings.update((name, f"{name}.__main__"))

    def _note_unawaited(self, line: int, function: ast.expr) -> None:
        if self._around.expects_error:
            return
        match function:
            case ast.Name(id=name) if name in self._coroutines[0]:
                self._spots.append(Spot("unawaited", line, name=name, bindings=1))
            case ast.Attribute(value=ast.Name(id="self"), attr=name) if len(self._coroutines) > 1:
                if name in self._coroutines[-1]:
                    self._spots.append(Spot("unawaited", line, name=f".{name}"))

    def _visit_around(self, node: ast.Lambda | ast.If | ast.With | ast.AsyncWith) -> None:
        outer = self._around
        match node:
            case ast.Lambda():
                self._around = attrs.evolve(outer, is_async=False)
            case ast.If() if _VERBOSE.search(ast.unparse(node.test)):
                self._around = attrs.evolve(outer, is_verbose=True)
            case ast.With() | ast.AsyncWith() if expects_error(node):
                self._around = attrs.evolve(outer, expects_error=True)
        self._below(node)
        self._around = outer

    def _visit_function(self, node: Function) -> None:
        self._bound[node.name] += 1
        name = ".".join([*self._within, node.name])
        first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        last = node.end_lineno or node.lineno
        self._document(node, name)
        # Decorators, defaults and annotations belong to what is around.
        self._visit_all(node.decorator_list)
        self.visit(node.args)
        if node.returns is not None:
            self.visit(node.returns)
        outer, place, before = self._around, len(self.measured), self._decisions
        is_open = self._is_public and self._is_public_module and not node.name.startswith("_")
        self._around = Around(
            file=outer.file,
            is_async=isinstance(node, ast.AsyncFunctionDef),
            is_collected=False,
            function=node.name,
            public_parameters=_parameters(node) if is_open and outer.file.is_product else frozenset(),
        )
        # What is defined inside a function is nobody's to document.
        self._go_below(node, first, last, is_public=False)
        self._around = outer
        # From its `def`, where the report says that it is; decorators are no part of its length.
        branches = 1 + self._decisions - before
        self.measured.insert(place, Measured(node.lineno, name, last - node.lineno + 1, branches))

    def _visit_class(self, node: ast.ClassDef) -> None:
        self.classes += 1
        self._bound[node.name] += 1
        self._document(node, ".".join([*self._within, node.name]))
        self._visit_all(node.decorator_list)
        self._visit_all([*node.bases, *node.keywords])
        is_public = self._is_public and not node.name.startswith("_")
        # A decorator or a metaclass of a class may replace its methods.
        is_plain = not node.decorator_list and not node.keywords
        self._coroutines.append(coroutines_of(node.body) if is_plain else frozenset())
        outer = self._around
        is_of_tests = node.name.startswith("Test") or any(ast.unparse(base).endswith("TestCase") for base in node.bases)
        self._around = attrs.evolve(outer, is_collected=is_of_tests and not self._within)
        self._go_below(node, node.lineno, node.end_lineno or node.lineno, is_public=is_public)
        self._around = outer
        self._coroutines.pop()

    def _go_below(self, node: Function | ast.ClassDef, first: int, last: int, *, is_public: bool) -> None:
        was_public, self._is_public = self._is_public, is_public
        self._within.append(node.name)
        self.spans.append(Span(first, last, ".".join(self._within)))
        self._visit_all(node.body)
        self._within.pop()
        self._is_public = was_public

    def _document(self, node: Function | ast.ClassDef, name: str) -> None:
        decorators = {ast.unparse(decorator).rpartition(".")[2] for decorator in node.decorator_list}
        if not self._is_public or node.name.startswith("_") or decorators & _QUIET_DECORATORS:
            return
        self.public += 1
        if ast.get_docstring(node, clean=False) is None:
            self.undocumented.append(Named(node.lineno, name))

    def _visit_import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            self._bound[alias.asname or alias.name.partition(".")[0]] += 1
        if isinstance(node, ast.Import):
            self.imports.update(alias.name for alias in node.names)
            return
        module = absolute_module(self._path, node.module or "", node.level)
        if module:
            self.imports.add(module)
        self.imports.update(f"{module}.{alias.name}".strip(".") for alias in node.names if alias.name != "*")


def _parameters(node: Function) -> frozenset[str]:
    """Return the parameters that a function never binds anew."""
    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    names = {argument.arg for argument in arguments} - {"self", "cls"}
    return frozenset(
        names
        - {inner.id for inner in own_nodes(node) if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)}
    )


def _own_parts(path: str) -> tuple[str, ...]:
    pure = PurePosixPath(path)
    return (*pure.parts[:-1], "" if pure.name in {"__init__.py", "__main__.py"} else pure.stem)


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
            case ast.ImportFrom():
                for alias in node.names:
                    yield alias.asname or alias.name, f"?{alias.name}"
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.AsyncFunctionDef(name=name):
                # A function called `print` is not the builtin one.
                yield name, f"?{name}"


def _only_hands_on(tree: ast.Module) -> bool:
    """Return True if a module is there for others' names, under its own."""
    return not any(
        isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) for statement in tree.body
    )


def _is_script(tree: ast.Module, lines: Sequence[str], imported: Iterable[str]) -> bool:
    if lines and lines[0].startswith("#!"):
        return True
    if any(name.partition(".")[0] in _COMMAND_LINES for name in imported):
        return True
    guards = [ast.unparse(node.test) for node in tree.body if isinstance(node, ast.If)]
    return any("__name__" in guard and "__main__" in guard for guard in guards)
