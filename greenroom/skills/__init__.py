"""Skills and slash commands: discovery, frontmatter, rendering with arguments."""

from greenroom.skills._command_line import STACKED, CommandLine, Invocation, read_command_line
from greenroom.skills._invoked import InvokedSkills
from greenroom.skills._render import Rendered, RenderPorts, SkillFailed, render_skill
from greenroom.skills._render_ports import FileReader, MayRun, ShellCommand, ShellOutcome, ShellRunner
from greenroom.skills._skill import COMMAND_FIELDS, SKILL_FIELDS, Skill, read_skill
from greenroom.skills._skill_arguments import Arguments, substitute
from greenroom.skills._skill_catalog import DESCRIPTION_CHARACTERS, LISTING_CHARACTERS, Skills, listing, resolve_skills
from greenroom.skills._skill_source import SkillSource, load_skills
from greenroom.skills._template import Piece, Reference, Shell, Words, parse_template

__all__ = [
    "COMMAND_FIELDS",
    "DESCRIPTION_CHARACTERS",
    "LISTING_CHARACTERS",
    "SKILL_FIELDS",
    "STACKED",
    "Arguments",
    "CommandLine",
    "FileReader",
    "Invocation",
    "InvokedSkills",
    "MayRun",
    "Piece",
    "Reference",
    "RenderPorts",
    "Rendered",
    "Shell",
    "ShellCommand",
    "ShellOutcome",
    "ShellRunner",
    "Skill",
    "SkillFailed",
    "SkillSource",
    "Skills",
    "Words",
    "listing",
    "load_skills",
    "parse_template",
    "read_command_line",
    "read_skill",
    "render_skill",
    "resolve_skills",
    "substitute",
]
