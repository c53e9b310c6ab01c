"""Lookup of a folder's public names when they are first used (PEP 562).

    if TYPE_CHECKING:
        from greenroom.inbox._origin import Origin
    else:
        __getattr__, __dir__ = lazy_names(globals(), {"greenroom.inbox._origin": ("Origin",)})

So a folder costs only the modules of the names that are used, and checkers see plain imports. This module must import
nothing.
"""

# Not from `typing`, whose import takes longer than all the rest; checkers know the name wherever it comes from.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def lazy_names(
    face: "dict[str, object]", names: "Mapping[str, tuple[str, ...]]"
) -> "tuple[Callable[[str], object], Callable[[], list[str]]]":
    """Return `__getattr__` and `__dir__` of a face.

    Args:
        face: Its `globals()`; a name that was looked up is kept there.
        names: The public names by the module that has them.
    """
    module_of = {name: module for module, shown in names.items() for name in shown}

    def look_up(name: str) -> object:
        module = module_of.get(name)
        if module is None:
            raise AttributeError(f"module {face['__name__']!r} has no attribute {name!r}")
        # Not `import_module`, which `-X importtime` does not see.
        value = face[name] = getattr(__import__(module, fromlist=(name,)), name)
        return value

    return look_up, lambda: sorted({*face, *module_of})
