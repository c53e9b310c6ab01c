"""The side of a mutant run that is inside pytest: break one module as it is imported, keep the tests that are to notice.

Processes that the tests start break it, too.

Loaded with `-p tools.mutants.plugin` by `python -m tools.mutants`, with the mutant's name in `MUTANT`.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tools.mutants.all_mutants import MUTANTS
from tools.mutants.catalogue import Mutant

if TYPE_CHECKING:
    import types
    from collections.abc import Sequence

    import pytest


_HERE: Final = Path(__file__).resolve().parent


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads a module from a changed source; nothing is written, and no bytecode of the real one is read."""

    def __init__(self, mutant: Mutant, path: str) -> None:
        super().__init__(mutant.module, path)
        self._mutant = mutant

    def get_code(self, fullname: str) -> types.CodeType:
        source = self.get_source(fullname)
        assert source is not None
        code: types.CodeType = compile(self._mutant.applied_to(source), self.path, "exec", dont_inherit=True)
        return code


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._mutant.module:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        assert spec is not None
        assert spec.origin is not None
        spec.loader = _Loader(self._mutant, spec.origin)
        spec.cached = None
        return spec


def _chosen() -> Mutant | None:
    name = os.environ.get("MUTANT", "")
    return next((mutant for mutant in MUTANTS if mutant.name == name), None)


_mutant = _chosen()
if _mutant is not None:
    assert _mutant.module not in sys.modules, f"{_mutant.module} was imported too early to be broken"
    sys.meta_path.insert(0, _Finder(_mutant))
    # Read by each Python that a test starts: `children` has a module that imports this one.
    os.environ["PYTHONPATH"] = os.pathsep.join(map(str, (_HERE / "children", _HERE.parents[1])))


def pytest_configure() -> None:
    """Leave failures of properties as they are found: minimizing one takes minutes, and nobody reads it."""
    from hypothesis import Phase, settings

    phases = [phase for phase in settings().phases if phase is not Phase.shrink]
    settings.register_profile("mutant", settings(), phases=phases)
    settings.load_profile("mutant")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests that name one of the mutant's promises."""
    if _mutant is None or not _mutant.promises:
        return
    wanted = set(_mutant.promises)
    kept = [item for item in items if any(wanted & set(mark.args) for mark in item.iter_markers("promise"))]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept
