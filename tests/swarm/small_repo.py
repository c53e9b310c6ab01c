"""A small repository with one of each thing that the survey looks for."""

from __future__ import annotations

from pathlib import Path
from typing import Final

FILES: Final[dict[str, str | bytes]] = {
    "README.md": "# Small\n\nTODO: say what it is for\n",
    "app.js": "function run() {\n  console.log('here');\n}\n",
    "shop/__init__.py": '"""A shop."""\nfrom shop.prices import price\n',
    "shop/prices.py": (
        '"""Prices."""\n\n\n'
        "def price(item, seen=[]):\n"
        "    # FIXME: taxes are missing\n"
        "    # in three countries\n"
        "    try:\n"
        "        return eval(item)\n"
        "    except:\n"
        "        print('no price')\n"
    ),
    "shop/stock.py": "class Stock:\n    def count(self):\n        return 0\n\n    def _hidden(self):\n        pass\n",
    "shop/long.py": '"""Long."""\n\n\ndef very_long() -> int:\n    """Count."""\n'
    + "    x = 1\n" * 70
    + "    return x\n",
    "shop/broken.py": "def broken(:\n    pass\n",
    "shop/empty.py": "",
    "shop/latin.py": b"# caf\xe9\nname = 'x'\n",
    "shop/picture.png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    "tests/test_prices.py": "from shop import price\n\n\ndef test_price() -> None:\n    assert price('1') == 1\n",
}


def make_small_repo(folder: Path) -> Path:
    for name, content in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder
