"""Agent definitions from files: Markdown with frontmatter, JSON, built-in ones; which one counts, and what was wrong."""

from greenroom.agents.definitions._builtin import (
    BUILTINS,
    EXPLORE,
    GENERAL_PURPOSE,
    PLAN,
    WORKER,
    builtin_definitions,
    find_manual,
)
from greenroom.agents.definitions._catalogue import Definitions, Given, agent_listing, plain_type, resolve_definitions
from greenroom.agents.definitions._fields import FIELDS, facts_of, read_definition, read_json, read_markdown
from greenroom.agents.definitions._source import DefinitionSource, load_definitions, read_files

__all__ = [
    "BUILTINS",
    "EXPLORE",
    "FIELDS",
    "GENERAL_PURPOSE",
    "PLAN",
    "WORKER",
    "DefinitionSource",
    "Definitions",
    "Given",
    "agent_listing",
    "builtin_definitions",
    "facts_of",
    "find_manual",
    "load_definitions",
    "plain_type",
    "read_definition",
    "read_files",
    "read_json",
    "read_markdown",
    "resolve_definitions",
]
