"""Checks of calls that are safe only with the right arguments: SQL, archives, hashes of passwords, addresses to listen at."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

from greenroom.swarm.survey._around import Around, Function, Spot, dotted_name, is_constant, keywords_of_call, own_nodes

_SQL: Final = re.compile(
    r"\s*(select\s.+\sfrom\s|insert\s+(or\s+\w+\s+)?into\s|update\s.+\sset\s|delete\s+from\s|drop\s+table\s|alter\s+table\s"
    r"|replace\s+into\s)",
    re.IGNORECASE | re.DOTALL,
)
_EXECUTES: Final = frozenset(
    {"execute", "executemany", "executescript", "fetch", "fetchall", "fetchone", "fetchval", "raw"}
)
_CONSTANT: Final = re.compile(r"_*[A-Z][A-Z0-9_]*")
_WEAK: Final = frozenset({"hashlib.md5", "hashlib.sha1"})
_SECRET_WORD: Final = re.compile(r"passw|passphrase|\bpwd\b|_pwd|pwd_", re.IGNORECASE)
_EVERYWHERE: Final = frozenset({"0.0.0.0", "::"})  # noqa: S104 - to be looked for
_HOSTS: Final = frozenset({"host", "hostname", "bind", "address", "addr", "listen", "bind_address", "interface", "ip"})


def check_risky_call(node: ast.Call, around: Around) -> Iterator[Spot]:
    """Check the arguments of a call."""
    if around.file.is_test:
        return
    keywords = keywords_of_call(node)
    name = dotted_name(node.func, around.file.names)
    libraries = around.file.libraries
    method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    is_tar = method == "extractall" and "tarfile" in libraries and "zip" not in ast.unparse(node.func).lower()
    if is_tar and "filter" not in keywords:
        yield Spot("extract-all", node.lineno)
    is_of_passwords = name in _WEAK and _SECRET_WORD.search(
        f"{' '.join(map(ast.unparse, node.args))} {around.function}"
    )
    if is_of_passwords and not any(is_constant(value, value=False) for value in keywords.values()):
        yield Spot("weak-hash", node.lineno)
    is_bind = method in {
        "bind",
        "listen",
        "create_server",
        "start_server",
    }
    listened = [value for key, value in keywords.items() if key in _HOSTS]
    listened += [part for argument in node.args if is_bind for part in getattr(argument, "elts", [argument])]
    if any(isinstance(value, ast.Constant) and value.value in _EVERYWHERE for value in listened):
        yield Spot("bind-all", node.lineno)


def check_defaults(node: Function, around: Around) -> Iterator[Spot]:
    """Check that a function does not listen everywhere by default, and runs no SQL that is put together from values."""
    if around.file.is_test:
        return
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs = [
        *zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults, strict=True),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
    for parameter, default in pairs:
        if isinstance(default, ast.Constant) and default.value in _EVERYWHERE and parameter.arg in _HOSTS:
            yield Spot("bind-all", parameter.lineno)
    yield from _made_up_sql(node)


def _made_up_sql(node: Function) -> Iterator[Spot]:
    nodes = sorted(
        (inner for inner in own_nodes(node) if isinstance(inner, ast.Call | ast.Assign)), key=lambda one: one.lineno
    )
    made: set[str] = set()
    for inner in nodes:
        match inner:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                (made.add if _is_made_up(value) else made.discard)(name)
            case ast.Call(func=ast.Attribute(attr=method), args=[line, *_]) if method in _EXECUTES:
                if isinstance(line, ast.Call) and line.args and ast.unparse(line.func).endswith("text"):
                    line = line.args[0]  # the `text("...")` of SQLAlchemy
                if _is_made_up(line) or (isinstance(line, ast.Name) and line.id in made):
                    yield Spot("sql", inner.lineno)


def _is_made_up(node: ast.expr) -> bool:
    """Return True if an expression puts values into the text of a statement of SQL."""
    match node:
        case ast.JoinedStr(values=[ast.Constant(value=str(text)), *_] as values):
            parts = [value.value for value in values if isinstance(value, ast.FormattedValue)]
            return _SQL.match(f"{text}{' x from x' if len(values) > 1 else ''}") is not None and not _are_fixed(parts)
        case ast.BinOp(op=ast.Mod(), left=ast.Constant(value=str(text)), right=right):
            return _SQL.match(f"{text} from x") is not None and not _are_fixed([right])
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            first = left
            parts = [right]
            while isinstance(first, ast.BinOp) and isinstance(first.op, ast.Add):
                parts.append(first.right)
                first = first.left
            text = first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""
            return _SQL.match(f"{text} x from x") is not None and not _are_fixed(parts)
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str(text)), attr="format"), args=args, keywords=more):
            return _SQL.match(f"{text} from x") is not None and not _are_fixed(
                [*args, *(keyword.value for keyword in more)]
            )
    return False


def _are_fixed(parts: list[ast.expr]) -> bool:
    """Return True if all parts are constants of the program, or marks for values that are given apart."""
    return all(
        isinstance(part, ast.Constant)
        or (isinstance(part, ast.Name | ast.Attribute) and _CONSTANT.fullmatch(ast.unparse(part).rpartition(".")[2]))
        or (isinstance(part, ast.Tuple) and _are_fixed(part.elts))
        or "?" in ast.unparse(part)  # `", ".join("?" * len(values))`
        or re.search(r"placeholder|marks|_sql|quote|ident", ast.unparse(part)) is not None
        for part in parts
    )
