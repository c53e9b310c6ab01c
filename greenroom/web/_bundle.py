"""The modules and styles of a page as one script and one style, for a file that is opened without a server.

Each module becomes a function that returns what it exports; modules import each other by name only, in the few forms that this project
writes. No build step: it is done when a file is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from greenroom.web._page_files import page_files

_IMPORT: Final = re.compile(r'^import \{ ([^}]+) \} from "([^"]+)";\n', re.MULTILINE)
_EXPORT: Final = re.compile(r"^export ((?:async )?(?:function|class|const) (\w+))", re.MULTILINE)


def bundled(page: str) -> tuple[str, str]:
    """Return the script and the style of a page.

    Args:
        page: The folder of the page; its `app.js` is where it begins.
    """
    files = {path: body.decode() for path, (_, body) in page_files(page).items()}
    scripts = {path: text for path, text in files.items() if path.endswith(".js") and path != "/base/early.js"}
    parts = [_as_function(path, scripts[path]) for path in _in_order(scripts, f"/{page}/app.js")]
    styles = [text for path, text in sorted(files.items()) if path.endswith(".css")]
    return "\n".join(['"use strict";', files["/base/early.js"], *parts]), "\n".join(styles)


def _in_order(scripts: Mapping[str, str], first: str) -> Iterator[str]:
    """Yield the modules that one needs, each behind those that it needs itself."""
    done: set[str] = set()
    waiting = [(first, False)]
    while waiting:
        path, is_ready = waiting.pop()
        if path in done:
            continue
        if is_ready:
            done.add(path)
            yield path
            continue
        waiting.append((path, True))
        waiting += [(_target(path, name), False) for _, name in reversed(_IMPORT.findall(scripts[path]))]


def _target(path: str, name: str) -> str:
    folder = path.rsplit("/", 1)[0]
    return f"{folder}/{name[2:]}" if name.startswith("./") else name.removeprefix("..")


def _as_function(path: str, text: str) -> str:
    made = _IMPORT.sub(lambda found: f"const {{ {found[1]} }} = {_variable(_target(path, found[2]))};\n", text)
    exported = [name for _, name in _EXPORT.findall(text)]
    made = _EXPORT.sub(r"\1", made)
    return f"const {_variable(path)} = (() => {{\n{made}\nreturn {{ {', '.join(exported)} }};\n}})();"


def _variable(path: str) -> str:
    return "module_" + re.sub(r"\W", "_", path.strip("/").removesuffix(".js"))
