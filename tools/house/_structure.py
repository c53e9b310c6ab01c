"""Rings of imports, attributes of classes, writes to other objects, faces and sizes."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Final

from tools.house._figure import Figure
from tools.house._tree import KERNEL, Module, Tree

STATE_HOLDERS: Final = frozenset({"home", "_home", "profile", "state", "pending", "review", "turn"})
"""Names of variables that hold the state of an agent."""
CLI_REACHES: Final = re.compile(r"session\.(runtime|delegation|_)|recorder\.listen")
WAYS_OUT: Final = re.compile(r"\b(on_message|on_stream|on_shown|on_taken|on_hook|on_elicited|recorder\.listen)\b")
DATACLASSES: Final = frozenset({"define", "frozen", "mutable", "dataclass"})


def figures(tree: Tree) -> Iterator[Figure]:
    """Yield the figures 1 to 5, 7 and 8."""
    yield from _rings(tree)
    yield from _classes(tree)
    yield from _session(tree)
    yield from _command_line(tree)
    yield from _kernel(tree)
    yield from _faces(tree)
    yield from _splinters(tree)


# --- 1: rings ---------------------------------------------------------------------------------------------------------


def _rings(tree: Tree) -> Iterator[Figure]:
    rings = sorted((ring for ring in components(tree.imports) if len(ring) > 1), key=len, reverse=True)
    kernel = [ring for ring in rings if all(tree.modules[one].folder in KERNEL for one in ring)]
    others = [ring for ring in rings if ring not in kernel]
    largest = len(kernel[0]) if kernel else 1
    yield Figure(1, "modules of the largest ring in the kernel, imports for types included", largest, 4, _named(kernel))
    yield Figure(1, "rings elsewhere", len(others), 0, _named(others))


def _named(rings: list[list[str]]) -> tuple[str, ...]:
    return tuple(f"{len(ring)}: {', '.join(sorted(ring)[:4])}{' ...' if len(ring) > 4 else ''}" for ring in rings)


def components(graph: Mapping[str, frozenset[str]]) -> list[list[str]]:
    """Return the strongly connected components of a graph (Tarjan's algorithm, without recursion)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []
    for root in graph:
        if root in index:
            continue
        work = [(root, iter(sorted(graph[root])))]
        index[root] = low[root] = len(index)
        stack.append(root)
        while work:
            node, below = work[-1]
            child = next(below, None)
            if child is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    at = stack.index(node)
                    found.append(stack[at:])
                    del stack[at:]
            elif child not in index:
                index[child] = low[child] = len(index)
                stack.append(child)
                work.append((child, iter(sorted(graph[child]))))
            elif child in stack:
                low[node] = min(low[node], index[child])
    return found


# --- 2: classes -------------------------------------------------------------------------------------------------------


def _classes(tree: Tree) -> Iterator[Figure]:
    by_name = _by_name(tree)
    exempt = tree.exceptions.get(2, frozenset())
    wide, flagged = [], []
    for module in tree.modules.values():
        for each in module.classes:
            if each.name in exempt or is_protocol(each):
                continue
            names = attributes(each, by_name)
            if len(names) > 25 and not (is_frozen(each) and mirrors_a_page(each, tree)):
                wide.append((len(names), f"{module.name}.{each.name}"))
            flags = booleans(each)
            if len(flags) > 6 and not is_frozen(each):
                flagged.append((len(flags), f"{module.name}.{each.name}"))
    yield Figure(2, "classes of more than 25 attributes", len(wide), 0, _ranked(wide))
    yield Figure(2, "changing records of more than 6 booleans", len(flagged), 0, _ranked(flagged))
    writers = Counter(module.name for module in tree.modules.values() for _ in state_writes(module))
    yield Figure(2, "modules that write an agent's state", len(writers), 8, _ranked(writers))
    foreign = Counter(one.name for one in tree.within("agents", "session") for _ in foreign_writes(one))
    yield Figure(2, "writes to other objects in agents and session", sum(foreign.values()), 90, _ranked(foreign))


@cache
def _rows(tree: Tree) -> tuple[frozenset[str], ...]:
    """Return for each page of the reference the names that its tables explain: of flags without dashes, of fields as they are."""
    pages = [path.read_text(encoding="utf-8") for path in (tree.root / "docs" / "reference").glob("*.md")]
    return tuple(
        frozenset(name.replace("-", "_") for name in re.findall(r"^\| `(?:--)?([\w-]+)", page, re.MULTILINE))
        for page in pages
    )


def mirrors_a_page(each: ast.ClassDef, tree: Tree) -> bool:
    """True if one page of the reference explains each field of a class in a row of its own.

    The number of such fields is the number of things that a user can say there; cutting the record would only hide it.
    """
    fields = {name.rstrip("_") for name in _fields(each)}
    return any(fields <= names for names in _rows(tree))


@cache
def _by_name(tree: Tree) -> Mapping[str, ast.ClassDef]:
    return {each.name: each for module in tree.modules.values() for each in module.classes}


def _ranked(found: list[tuple[int, str]] | Counter[str]) -> tuple[str, ...]:
    pairs = [(n, name) for name, n in found.items()] if isinstance(found, Counter) else found
    return tuple(f"{n} {name}" for n, name in sorted(pairs, reverse=True))


def attributes(each: ast.ClassDef, by_name: Mapping[str, ast.ClassDef]) -> set[str]:
    """Return the names of the instance attributes of a class, inherited ones included."""
    found = set(_fields(each))
    for node in ast.walk(each):
        for target in targets(node):
            if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self":
                found.add(target.attr)
    for base in each.bases:
        above = by_name.get(_last_name(base))
        if above is not None and above is not each:
            found |= attributes(above, by_name)
    return found


def _fields(each: ast.ClassDef) -> Iterator[str]:
    for node in each.body:
        is_field = isinstance(node, ast.AnnAssign) and not ast.unparse(node.annotation).startswith(
            ("ClassVar", "Final")
        )
        if is_field and isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


def booleans(each: ast.ClassDef) -> set[str]:
    """Return the attributes of a class that are annotated as booleans, or set to one."""
    found = {
        node.target.id
        for node in each.body
        if isinstance(node, ast.AnnAssign)
        and isinstance(node.target, ast.Name)
        and ast.unparse(node.annotation) == "bool"
    }
    for node in ast.walk(each):
        value = getattr(node, "value", None)
        if isinstance(value, ast.Constant) and isinstance(value.value, bool):
            found |= {
                target.attr
                for target in targets(node)
                if isinstance(target, ast.Attribute) and ast.unparse(target.value) == "self"
            }
    return found


def is_frozen(each: ast.ClassDef) -> bool:
    """True for an attrs class whose objects do not change."""
    return any("frozen" in ast.unparse(one) for one in each.decorator_list)


def is_protocol(each: ast.ClassDef) -> bool:
    """True for a class that only describes others."""
    return any(_last_name(base) == "Protocol" for base in each.bases)


def _last_name(base: ast.expr) -> str:
    while isinstance(base, ast.Subscript):
        base = base.value
    return base.attr if isinstance(base, ast.Attribute) else base.id if isinstance(base, ast.Name) else ""


def targets(node: ast.AST) -> list[ast.expr]:
    """Return what a statement assigns to, pairs taken apart."""
    if isinstance(node, ast.Assign):
        found = list(node.targets)
    elif isinstance(node, ast.AugAssign | ast.AnnAssign):
        found = [node.target]
    else:
        return []
    for target in found:
        if isinstance(target, ast.Tuple | ast.List):
            found += target.elts
    return found


def foreign_writes(module: Module) -> Iterator[ast.Attribute]:
    """Yield the assignments to an attribute of another object than `self` or `cls`."""
    for node in module.nodes:
        for target in targets(node):
            if isinstance(target, ast.Attribute) and ast.unparse(target.value) not in ("self", "cls"):
                yield target


def state_writes(module: Module) -> Iterator[ast.Attribute]:
    """Yield the assignments to an attribute of an agent's state."""
    for target in foreign_writes(module):
        holder = target.value
        name = holder.attr if isinstance(holder, ast.Attribute) else holder.id if isinstance(holder, ast.Name) else ""
        if name in STATE_HOLDERS and module.folder in ("agents", "teams", "session"):
            yield target


# --- 3: the session ---------------------------------------------------------------------------------------------------


def _session(tree: Tree) -> Iterator[Figure]:
    by_name = _by_name(tree)
    session = by_name.get("Session")
    members = sorted(public_members(session, by_name)) if session is not None else []
    yield Figure(3, "public methods and properties of Session", len(members), 24, tuple(members))
    bases = list(single_bases(tree))
    yield Figure(3, "classes whose only use is to be a base of one other", len(bases), 0, tuple(bases))
    unset = list(unset_attributes(tree))
    yield Figure(3, "attributes that are annotated and set by somebody else", len(unset), 0, tuple(unset))
    wide = [(len(tree.imports[one.name]), one.name) for one in tree.within("session") if not one.is_face]
    wide = [one for one in wide if one[0] > 20]
    yield Figure(3, "modules of session that import more than 20 others", len(wide), 0, _ranked(wide))


def public_members(each: ast.ClassDef, by_name: Mapping[str, ast.ClassDef]) -> set[str]:
    """Return the public methods and properties of a class, inherited ones included."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    found = {node.name for node in each.body if isinstance(node, kinds) and not node.name.startswith("_")}
    for base in each.bases:
        above = by_name.get(_last_name(base))
        found |= public_members(above, by_name) if above is not None and above is not each else set()
    return found


def constants(each: ast.ClassDef) -> set[str]:
    """Return the names that a class assigns in its body, which serve as properties of its objects."""
    return {
        target.id
        for node in each.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def single_bases(tree: Tree) -> Iterator[str]:
    """Yield the classes that nothing but one subclass uses."""
    below: Counter[str] = Counter()
    uses: Counter[str] = Counter()
    for module in tree.modules.values():
        below.update(_last_name(base) for each in module.classes for base in each.bases)
        uses.update(node.id for node in module.nodes if isinstance(node, ast.Name))
    for module in tree.modules.values():
        for each in module.classes:
            if below[each.name] == 1 == uses[each.name] and not is_protocol(each):
                yield f"{module.name}.{each.name}"


def unset_attributes(tree: Tree) -> Iterator[str]:
    """Yield the attributes that a plain class declares without a value and never sets itself."""
    for module in tree.modules.values():
        for each in module.classes:
            if is_protocol(each) or any(
                name in ast.unparse(one) for one in each.decorator_list for name in DATACLASSES
            ):
                continue
            if each.bases and not {_last_name(base) for base in each.bases} <= set(_by_name(tree)):
                continue  # an enum, a TypedDict, an attrs base: its fields are somebody else's business
            set_here = {
                target.attr
                for node in ast.walk(each)
                for target in targets(node)
                if isinstance(target, ast.Attribute) and ast.unparse(target.value) == "self"
            }
            for node in each.body:
                if isinstance(node, ast.AnnAssign) and node.value is None and isinstance(node.target, ast.Name):
                    is_constant = ast.unparse(node.annotation).startswith("ClassVar")
                    if not is_constant and node.target.id not in set_here:
                        yield f"{module.name}.{each.name}.{node.target.id}"


# --- 4 and 5: the command line, the kernel ----------------------------------------------------------------------------


def _command_line(tree: Tree) -> Iterator[Figure]:
    lines = [(len(one.text.splitlines()), one.name) for one in tree.within("cli")]
    yield Figure(4, "lines of cli", sum(n for n, _ in lines), 3_000, _ranked(lines))
    doors = tree.within("cli", "headless", "replay", "swarm")
    reaches = [
        f"{door.name}:{number}"
        for door in doors
        for number, line in enumerate(door.text.splitlines(), 1)
        if CLI_REACHES.search(line)
    ]
    yield Figure(4, "places where a door reaches into the session", len(reaches), 0, tuple(reaches))
    ways = {found for one in tree.within("cli", "headless") for found in WAYS_OUT.findall(one.text)}
    yield Figure(
        4, "ways of an answer to greenroom run, its return value included", 1 + len(ways), 2, tuple(sorted(ways))
    )


def _kernel(tree: Tree) -> Iterator[Figure]:
    modules = tree.within(*KERNEL)
    counts = [(statements(module.nodes), module.name) for module in modules]
    yield Figure(5, "statements of the kernel", sum(n for n, _ in counts), 2_900, _ranked(counts))
    yield Figure(5, "modules of the kernel", len(modules), 36)
    page = tree.root / "docs" / "explanation" / "kernel.md"
    words = glossary_words(page.read_text(encoding="utf-8")) if page.is_file() else []
    yield Figure(5, "words in the glossary of kernel.md", len(words), 6, tuple(words))


def statements(nodes: Iterable[ast.AST]) -> int:
    """Count the statements that are neither imports nor docstrings."""
    return sum(
        isinstance(node, ast.stmt)
        and not isinstance(node, ast.Import | ast.ImportFrom)
        and not (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        )
        for node in nodes
    )


def glossary_words(page: str) -> list[str]:
    """Return the first cells of the table below a heading that holds "words" or "glossary"."""
    found: list[str] = []
    is_there = False
    for line in page.splitlines():
        if line.startswith("#"):
            is_there = bool(re.search(r"words|glossary", line, re.IGNORECASE))
        elif is_there and line.startswith("| ") and not line.startswith(("| ---", "| word")):
            found.append(line.split("|")[1].strip())
    return found


# --- 7 and 8: faces, splinters ----------------------------------------------------------------------------------------


def _reads_of_faces(module: Module, faces: Mapping[str, list[str]]) -> Iterator[tuple[str, str]]:
    """Yield the names that a module reads as attributes of a face that it imports whole, such as `mcp.FOLDS`."""
    whole = {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in module.nodes
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if f"{node.module}.{alias.name}" in faces
    }
    for node in module.nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in whole:
            yield whole[node.value.id], node.attr


def _faces(tree: Tree) -> Iterator[Figure]:
    faces = {
        module.name: names
        for module in tree.modules.values()
        if module.is_face and (names := public_names(module.tree))
    }
    used: dict[str, set[str]] = defaultdict(set)
    for module in tree.modules.values():
        for node in module.nodes:
            if isinstance(node, ast.ImportFrom) and node.module in faces and not module.name.startswith(node.module):
                used[node.module] |= {alias.name for alias in node.names}
        for face, name in _reads_of_faces(module, faces):
            used[face].add(name)
    # What a guide imports is used by its readers, whether the reference lists it or not.
    reference = "\n".join(
        path.read_text(encoding="utf-8")
        for path in (tree.root / "docs" / "reference").glob("*.md")
        if path.name != "renames.md"  # it lists what every name was called before
    )
    guides = "\n".join(path.read_text(encoding="utf-8") for path in (tree.root / "docs").rglob("*.md"))
    # A class that the glossary names has to be public, and a test holds it to that.
    glossary = tree.root / "docs" / "explanation" / "glossary.md"
    named = re.findall(r"`(\w+)` \|$", glossary.read_text(encoding="utf-8"), re.MULTILINE) if glossary.is_file() else []
    imported = re.findall(r"(?:^|`)from greenroom[\w.]* import (\([^)]*\)|[\w, ]*)", guides, re.MULTILINE)
    known = (
        set(re.findall(r"\w+", reference))
        | set(named)
        | set(re.findall(r"\w+", " ".join(imported)))
        | set(public_names(tree.modules["greenroom"].tree))
    )
    idle = [
        f"{face}.{name}"
        for face, names in faces.items()
        for name in names
        if name not in used[face] and name not in known
    ]
    yield Figure(7, "public names that no other folder and no page of the reference uses", len(idle), 0, tuple(idle))
    sizes = [(len(names), face) for face, names in faces.items() if len(names) > 60]
    yield Figure(7, "faces of more than 60 names", len(sizes), 0, _ranked(sizes))


def public_names(tree: ast.Module) -> list[str]:
    """Return what `__all__` lists."""
    for node in tree.body:
        if (
            isinstance(node, ast.Assign)
            and ast.unparse(node.targets[0]) == "__all__"
            and isinstance(node.value, ast.List)
        ):
            return [str(elt.value) for elt in node.value.elts if isinstance(elt, ast.Constant)]
    return []


def _splinters(tree: Tree) -> Iterator[Figure]:
    importers: dict[str, set[str]] = defaultdict(set)
    for name, needed in tree.imports.items():
        for one in needed:
            importers[one].add(name)
    excepted = tree.exceptions.get(8, frozenset())
    small = [
        f"{module.name} ({module.code_lines})"
        for module in tree.modules.values()
        if module.code_lines <= 30 and len(importers[module.name]) == 1 and not module.is_face
        if module.name.removeprefix("greenroom.") not in excepted
    ]
    yield Figure(8, "modules of at most 30 lines with one importer that are not excepted", len(small), 0, tuple(small))
    long = [(n, module.name) for module in tree.modules.values() if (n := len(module.text.splitlines())) > 450]
    yield Figure(8, "modules of more than 450 lines", len(long), 4, _ranked(long))
    single = [protocol for protocol in single_protocols(tree) if protocol not in excepted]
    yield Figure(8, "protocols with at most one implementor that are not excepted", len(single), 0, tuple(single))


def single_protocols(tree: Tree) -> Iterator[str]:
    """Yield the protocols whose members at most one class of the package has, the test kit not counted."""
    classes = [each for module in tree.modules.values() if module.folder != "testing" for each in module.classes]
    by_name = _by_name(tree)
    members = {
        id(each): public_members(each, by_name) | attributes(each, by_name) | constants(each) for each in classes
    }
    for each in classes:
        wanted = members[id(each)]
        if is_protocol(each) and wanted and "__call__" not in {getattr(node, "name", "") for node in each.body}:
            found = [
                each_class
                for each_class in classes
                if not is_protocol(each_class) and wanted <= members[id(each_class)]
            ]
            if len(found) <= 1:
                yield each.name
