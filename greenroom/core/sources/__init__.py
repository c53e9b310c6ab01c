"""Files that people write for agents: the folders they lie in, how they are read, and what was wrong with them."""

from greenroom.core.sources._diagnostics import Diagnostic, Kind
from greenroom.core.sources._fields import (
    Field,
    Misfit,
    flag,
    frozen,
    items,
    mapping,
    one_of,
    positive,
    read_fields,
    text,
    thawed,
    words,
)
from greenroom.core.sources._files import FILE_BYTES, FileCache, Found, Unusable, find_files, read_start, read_text
from greenroom.core.sources._frontmatter import BadFrontmatter, Document, Entry, entries_of, read_frontmatter
from greenroom.core.sources._places import OWN, THEIRS, Level, Places, Plugin, Scope, find_places

__all__ = [
    "FILE_BYTES",
    "OWN",
    "THEIRS",
    "BadFrontmatter",
    "Diagnostic",
    "Document",
    "Entry",
    "Field",
    "FileCache",
    "Found",
    "Kind",
    "Level",
    "Misfit",
    "Places",
    "Plugin",
    "Scope",
    "Unusable",
    "entries_of",
    "find_files",
    "find_places",
    "flag",
    "frozen",
    "items",
    "mapping",
    "one_of",
    "positive",
    "read_fields",
    "read_frontmatter",
    "read_start",
    "read_text",
    "text",
    "thawed",
    "words",
]
