"""Agent definitions from files (Markdown with frontmatter, JSON) and built-in ones: their precedence and their
problems.
"""

from greenroom._lazy_names import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
    from greenroom.agents.definitions._builtin_definitions import (
        EXPLORE,
        GENERAL_PURPOSE,
        PLAN,
        WORKER,
        builtin_definitions,
    )
    from greenroom.agents.definitions._definition_catalog import Definitions, Given, agent_listing, plain_type
    from greenroom.agents.definitions._definition_checks import check_definition
    from greenroom.agents.definitions._definition_fields import facts_of, read_json
    from greenroom.agents.definitions._definition_source import DefinitionSource, load_definitions, read_files
else:
    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "greenroom.agents.definitions._builtin_definitions": (
                "EXPLORE",
                "GENERAL_PURPOSE",
                "PLAN",
                "WORKER",
                "builtin_definitions",
            ),
            "greenroom.agents.definitions._definition_catalog": ("Definitions", "Given", "agent_listing", "plain_type"),
            "greenroom.agents.definitions._definition_checks": ("check_definition",),
            "greenroom.agents.definitions._definition_fields": ("facts_of", "read_json"),
            "greenroom.agents.definitions._definition_source": ("DefinitionSource", "load_definitions", "read_files"),
        },
    )

__all__ = [
    "EXPLORE",
    "GENERAL_PURPOSE",
    "PLAN",
    "WORKER",
    "DefinitionSource",
    "Definitions",
    "Given",
    "agent_listing",
    "builtin_definitions",
    "check_definition",
    "facts_of",
    "load_definitions",
    "plain_type",
    "read_files",
    "read_json",
]
