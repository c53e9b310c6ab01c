"""The searches of a survey, beside the reading of Python files."""

from __future__ import annotations

from typing import Final

from greenroom.cli.survey._items import Search

MARKERS: Final = Search(
    "to-do markers outside Python",
    # Followed by a colon or a name in parentheses, or the first word of a comment, a line or an entry of a list.
    r"\b(TODO|FIXME|XXX|HACK)( ?:|\()|(^|//|/\*|--|[#;%*]|^\s*[-*]( \[ \])?)\s*(TODO|FIXME|XXX|HACK)\b",
    "!*.{py,pyi,ipynb,lock,svg,map,csv,jsonl,log}",
)
CONFLICTS: Final = Search("merge conflicts", r"^(<{7}|>{7}) \S")
LEFTOVERS: Final = Search(
    "debugging left in other languages",
    r"^\s*(debugger;?|console\.(log|debug)\(.*|binding\.pry|byebug|var_dump\(.*|dbg!\(.*)\s*$",
    "*.{js,jsx,mjs,cjs,ts,tsx,vue,rb,php,rs}",
)
KEYS: Final = Search(
    "keys and passwords",
    r"\bAKIA[0-9A-Z]{16}\b|-----BEGIN ([A-Z]+ )?PRIVATE KEY-----|\bgh[pousr]_[A-Za-z0-9]{36}"
    r"|\bxox[abprs]-[0-9A-Za-z-]{20}|\bsk-(ant|proj)-[A-Za-z0-9_-]{24}",
)
"""The forms in which well-known services write theirs."""
