from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def deny(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """Make the system refuse to open a file or list a folder, as it does for anybody but root."""
    denied: set[str] = set()
    real_open, real_scandir = os.open, os.scandir

    def refuse(path: Any) -> None:
        if str(path) in denied:
            raise PermissionError(13, "Permission denied", str(path))

    def open_or_refuse(path: Any, *args: Any, **options: Any) -> int:
        refuse(path)
        return real_open(path, *args, **options)

    def scandir_or_refuse(path: Any = ".") -> Any:
        refuse(path)
        return real_scandir(path)

    monkeypatch.setattr(os, "open", open_or_refuse)
    monkeypatch.setattr(os, "scandir", scandir_or_refuse)
    return lambda path: denied.add(str(path))
