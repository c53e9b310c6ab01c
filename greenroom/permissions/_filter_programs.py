"""Small languages of filters: which scripts of `sed`, `awk` and `jq` only print what they read.

Sources: POSIX, and the manuals of GNU sed 4.9, gawk 5.2 and jq 1.7. Rule 1: a script counts as harmless only if all of it is of a form that is
listed here; commands that write files, read others or run programs are not.
Must not know: rules, modes, the disk.
"""

from __future__ import annotations

import re
from typing import Final

_REGEX: Final = r"/(?:[^/\\\n]|\\[^\n])*/I?"
_ADDRESS: Final = rf"(?:[0-9]+(?:~[0-9]+)?|\$|{_REGEX})"
_SUBSTITUTE: Final = r"s([/|#,:@!_])(?:(?!\1)[^\\\n]|\\[^\n])*\1(?:(?!\1)[^\\\n]|\\[^\n])*\1[gIip0-9]*"
_SED: Final = re.compile(
    rf"(?:{_ADDRESS}(?:,(?:\+[0-9]+|{_ADDRESS}))?\s*!?\s*)?(?:[pdPDnNhHgGxl=]|q[0-9]*|{_SUBSTITUTE})"
)


def is_harmless_sed(script: str) -> bool:
    """True if a script of `sed` prints, deletes or substitutes, and nothing else."""
    text = script.strip()
    if _SED.fullmatch(text):
        return True
    # A semicolon separates commands only where none of them can hold one.
    parts = [part.strip() for part in text.split(";")]
    return "s" not in text and all(not part or _SED.fullmatch(part) for part in parts) and any(parts)


_AWK_STRING: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_AWK_REFUSED: Final = re.compile(
    r"system|getline|ENVIRON|PROCINFO|ARGV|ARGC|SYMTAB|FUNCTAB|close|fflush|@|>|\|(?!\|)(?<!\|\|)|\bfunc|[`\\]"
)


def is_harmless_awk(script: str) -> bool:
    """True if a program of `awk` only computes and prints to standard output."""
    # A slash may begin a regular expression with a quote in it: then the start of a string is unknown.
    text = script if "/" in script else _AWK_STRING.sub('""', script)
    return _AWK_REFUSED.search(text.replace("||", "")) is None


_JQ_REFUSED: Final = re.compile(
    r"(?<![.\w])(?:env|import|include|modulemeta|input_filename|get_search_list|\$__prog_args)\b|\$ENV|\\u"
)


def is_harmless_jq(script: str) -> bool:
    """True if a filter of `jq` reads nothing but its input."""
    return _JQ_REFUSED.search(script) is None
