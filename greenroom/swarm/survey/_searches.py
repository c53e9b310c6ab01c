"""The searches of a survey, beside the reading of Python files."""

from __future__ import annotations

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
TREE: Final = SurveySearch("the whole tree", "", tool="TreeFacts")
"""Keys and passwords, unused code, rings of imports, stale documentation, the linter."""
