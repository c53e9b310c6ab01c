"""The searches of a survey, beside the reading of Python files."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Final

from greenroom.swarm.survey._items import SurveySearch

MARKERS: Final = SurveySearch(
    "to-do markers outside Python",
    # Followed by a colon or a name in parentheses, or the first word of a comment, a line or an entry of a list.
    r"\b(TODO|FIXME|XXX|HACK)( ?:|\()|(^|//|/\*|--|[#;%*]|^\s*[-*]( \[ \])?)\s*(TODO|FIXME|XXX|HACK)\b",
    "!*.{py,pyi,ipynb,lock,svg,map,csv,jsonl,log}",
)
CONFLICTS: Final = SurveySearch("merge conflicts", r"^(<{7}|>{7}) \S")
LEFTOVERS: Final = SurveySearch(
    "debugging left in other languages",
    r"^\s*(debugger;?|console\.(log|debug)\(.*|binding\.pry|byebug|var_dump\(.*|dbg!\(.*)\s*$",
    "*.{js,jsx,mjs,cjs,ts,tsx,vue,rb,php,rs}",
)
KEYS: Final = SurveySearch(
    "keys and passwords",
    r"\bAKIA[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{36}"
    # Code that looks for such a line names it within another one.
    r"|^-----BEGIN ([A-Z]+ )?PRIVATE KEY-----$|-----BEGIN ([A-Z]+ )?PRIVATE KEY-----\\n[A-Za-z0-9+/]{16}"
    r"|\bxox[abprs]-[0-9A-Za-z-]{20}|\bsk-(ant|proj)-[A-Za-z0-9_-]{24}",
)
"""The forms in which well-known services write theirs."""

_FEWEST_CHARACTERS: Final = 10
"""Different ones in a key: one with less, such as `ghp_xxxx`, stands for another."""


def may_be_key(path: str, line: str) -> bool:
    """Return True if a line that was found by `KEYS` is not an example: manuals show keys that say so, and heads without a body."""
    found = re.search(KEYS.pattern, line)
    if found is None or "example" in line.lower():
        return False
    if "PRIVATE KEY" in found[0]:
        return PurePosixPath(path).suffix.lower() not in {".md", ".rst", ".txt"}
    return len(set(found[0].rpartition("_")[2].rpartition("-")[2])) >= _FEWEST_CHARACTERS
