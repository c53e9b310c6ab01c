from __future__ import annotations

from tests.session.conftest import short

__all__ = ["short"]
