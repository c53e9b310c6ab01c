"""Skills and slash commands: discovery, frontmatter, rendering with arguments."""

from greenroom.skills._command_line import read_command_line
from greenroom.skills._invoked import InvokedSkills
from greenroom.skills._render import Rendered, RenderPorts, SkillFailed, render_skill
from greenroom.skills._render_ports import ShellCommand, ShellOutcome
from greenroom.skills._skill import Skill
from greenroom.skills._skill_arguments import Arguments
from greenroom.skills._skill_catalog import Skills, listing
from greenroom.skills._skill_source import SkillSource
from greenroom.skills._template import Reference, parse_template

__all__ = [
    "Arguments",
    "InvokedSkills",
    "Reference",
    "RenderPorts",
    "Rendered",
    "ShellCommand",
    "ShellOutcome",
    "Skill",
    "SkillFailed",
    "SkillSource",
    "Skills",
    "listing",
    "parse_template",
    "read_command_line",
    "render_skill",
]
