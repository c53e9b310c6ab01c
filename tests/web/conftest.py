from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.web.browser import BrowserPage, open_browser_page, running_chromium


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A browser for all tests: the address of its protocol."""
    with running_chromium(tmp_path_factory.mktemp("chromium")) as address:
        yield address


@pytest.fixture
async def page(browser: str) -> AsyncIterator[BrowserPage]:
    """A page with a storage of its own."""
    async with open_browser_page(browser) as opened:
        yield opened


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The folder of a gateway."""
    return tmp_path
