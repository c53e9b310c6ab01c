"""Checks of single calls: what runs text, waits without end, blocks a loop, leaves something open.

A call is known by what its name was imported from; a method of an unknown object is none of these.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Final

from greenroom.swarm.survey._around import (
    BUILTINS,
    Around,
    Spot,
    dotted_name,
    has_unknown_arguments,
    is_constant,
    keywords_of_call,
)

_Keywords = Mapping[str, ast.expr]

_SHELLS: Final = frozenset({
    *("os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput"),
    "asyncio.create_subprocess_shell",
})  # fmt: skip
_PROCESSES: Final = frozenset(f"subprocess.{verb}" for verb in ("run", "call", "check_call", "check_output", "Popen"))
_UNPICKLE: Final = frozenset({
    *("pickle.load", "pickle.loads", "pickle.Unpickler", "marshal.load", "marshal.loads", "shelve.open"),
    *("dill.load", "dill.loads", "cloudpickle.load", "cloudpickle.loads"),
})  # fmt: skip
_YAML: Final = frozenset({"yaml.load", "yaml.load_all"})
_UNSAFE_YAML: Final = frozenset({"yaml.unsafe_load", "yaml.unsafe_load_all"})
_UNSAFE_LOADERS: Final = frozenset({"yaml.Loader", "yaml.CLoader", "yaml.UnsafeLoader", "yaml.CUnsafeLoader"})
_DEBUGGERS: Final = frozenset({"breakpoint", "pdb.set_trace", "ipdb.set_trace", "pudb.set_trace", "pdb.post_mortem"})
_DEBUGGING: Final = re.compile(r"pdb|debug|break")
"""Names of functions that exist to start one."""
_VERBS: Final = ("get", "post", "put", "patch", "delete", "head", "options", "request")
_HTTP: Final = frozenset(f"{library}.{verb}" for library in ("requests", "httpx") for verb in _VERBS)
_BLOCKING: Final = frozenset({
    *("time.sleep", "os.system", "os.wait", "input", "socket.create_connection", "urllib.request.urlopen"),
    *("subprocess.run", "subprocess.call", "subprocess.check_call", "subprocess.check_output"),
}) | _HTTP  # fmt: skip
_WITHOUT_TIMEOUT: Final[Mapping[str, int]] = {
    **{f"requests.{verb}": 9 for verb in _VERBS},
    "urllib.request.urlopen": 2,
    "socket.create_connection": 1,
    "http.client.HTTPConnection": 2,
    "http.client.HTTPSConnection": 9,
    "ftplib.FTP": 4,
    "smtplib.SMTP": 3,
}
"""Calls that wait without a limit by default, and the place of `timeout` among their arguments."""
_UTC: Final = frozenset({"datetime.datetime.utcnow", "datetime.datetime.utcfromtimestamp"})
_OPEN: Final = frozenset({"open", "io.open", "codecs.open"})
_READS: Final = frozenset({"read", "readlines", "readline", "write", "writelines"})
_LOADS: Final = frozenset({
    *("json.load", "pickle.load", "yaml.safe_load", "yaml.load", "tomllib.load", "csv.reader", "csv.DictReader"),
})  # fmt: skip
_TALKS: Final = re.compile(
    r"print|show|dump|main|help|usage|display|report|debug|verbose|log|warn|demo|list|benchmark|profile|trace|info"
)
_TEXT_CONSTANT: Final = re.compile(r"[A-Z][A-Z0-9_]*")


def check_call(node: ast.Call, around: Around) -> Iterator[Spot]:
    """Check a call."""
    yield from _open_left(node, around)
    name = dotted_name(node.func, around.file.names)
    if not name:
        return
    keywords = keywords_of_call(node)
    builtin = name if name in BUILTINS else ""
    for kind in _kinds_of(node, name, keywords, around):
        yield Spot(kind, node.lineno, name=builtin)


def _kinds_of(node: ast.Call, name: str, keywords: _Keywords, around: Around) -> Iterator[str]:
    is_test = around.file.is_test
    if name in {"eval", "exec"} and around.file.is_product and node.args and not isinstance(node.args[0], ast.Constant):
        yield "eval"
    if not is_test and _runs_made_up_line(node, name, keywords):
        yield "shell"
    if not is_test and _skips_certificates(node, name, keywords, around):
        yield "tls"
    if name in _DEBUGGERS and not _DEBUGGING.search(f"{around.file.path} {around.function}"):
        yield "debugger"
    if name in _YAML and _has_no_loader(node, keywords):
        yield "yaml-load"
    elif not is_test and (name in _UNPICKLE or _has_unsafe_loader(node, name, keywords, around)):
        yield "unpickle"
    if name == "tempfile.mktemp" and not is_test and "pipe" not in ast.unparse(node):  # a pipe of Windows is not a file
        yield "mktemp"
    if around.is_async and name in _BLOCKING:
        yield "async-blocks"
    if not is_test and _has_no_timeout(node, name, keywords, around):
        yield "no-timeout"
    if name in _UTC:
        yield "utcnow"
    if name == "print" and "file" not in keywords and not _may_print(around):
        yield "print"


def _runs_made_up_line(node: ast.Call, name: str, keywords: _Keywords) -> bool:
    if name not in _SHELLS and not (name in _PROCESSES and is_constant(keywords.get("shell"), value=True)):
        return False
    line = node.args[0] if node.args else keywords.get("args", keywords.get("cmd", keywords.get("command")))
    return line is not None and not _is_fixed(line)


def _is_fixed(line: ast.expr) -> bool:
    """Return True if a text does not depend on the user of the program."""
    match line:
        case ast.Constant():
            return True
        case ast.Name(id=name):
            return _TEXT_CONSTANT.fullmatch(name) is not None
        case ast.BinOp(left=left, right=right):
            return _is_fixed(left) and _is_fixed(right)
        case ast.JoinedStr(values=values):
            return all(isinstance(value, ast.Constant) for value in values)
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return all(map(_is_fixed, parts))
    return False


def _skips_certificates(node: ast.Call, name: str, keywords: _Keywords, around: Around) -> bool:
    if name == "ssl._create_unverified_context":
        return True
    if not is_constant(keywords.get("verify"), value=False):
        return False
    if name in _HTTP or name in {"httpx.Client", "httpx.AsyncClient", "httpx.stream"}:
        return True
    is_verb = isinstance(node.func, ast.Attribute) and node.func.attr in _VERBS
    return is_verb and not around.file.libraries.isdisjoint({"requests", "httpx"})


def _has_no_loader(node: ast.Call, keywords: _Keywords) -> bool:
    return "Loader" not in keywords and len(node.args) < 2 and not has_unknown_arguments(node)


def _has_unsafe_loader(node: ast.Call, name: str, keywords: _Keywords, around: Around) -> bool:
    if name in _UNSAFE_YAML:
        return True
    loader = keywords.get("Loader") or (node.args[1] if len(node.args) > 1 else None)
    return name in _YAML and loader is not None and dotted_name(loader, around.file.names) in _UNSAFE_LOADERS


def _has_no_timeout(node: ast.Call, name: str, keywords: _Keywords, around: Around) -> bool:
    place = _WITHOUT_TIMEOUT.get(name)
    if (
        place is None
        or not (node.args or node.keywords)
        or "timeout" in keywords
        or len(node.args) > place
        or has_unknown_arguments(node)
    ):
        return False
    # A default for all sockets of the process is as good, save for `requests`, which does not look at it.
    return name.startswith("requests.") or not any("setdefaulttimeout" in line for line in around.file.lines)


def _may_print(around: Around) -> bool:
    return around.file.may_print or around.is_verbose or _TALKS.search(around.function.lower()) is not None


def _open_left(node: ast.Call, around: Around) -> Iterator[Spot]:
    if isinstance(node.func, ast.Attribute) and node.func.attr in _READS:
        yield from opened(node.func.value, around)
    elif node.args and dotted_name(node.func, around.file.names) in _LOADS:
        yield from opened(node.args[0], around)


def opened(node: ast.expr, around: Around) -> Iterator[Spot]:
    """Say that an expression, which is used and then lost, opens a file."""
    if isinstance(node, ast.Call):
        name = dotted_name(node.func, around.file.names)
        if name in _OPEN:
            yield Spot("open-left", node.lineno, name=name if name in BUILTINS else "")


def check_loop(node: ast.For | ast.comprehension, around: Around) -> Iterator[Spot]:
    """Check what a loop goes over."""
    yield from opened(node.iter, around)
