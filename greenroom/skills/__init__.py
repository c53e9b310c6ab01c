"""Skills and slash commands: discovery, frontmatter, rendering with arguments."""

from greenroom._lazy_names import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
    from greenroom.skills._command_line import read_command_line
    from greenroom.skills._invoked import InvokedSkills
    from greenroom.skills._render import Rendered, RenderPorts, SkillFailed, render_skill
    from greenroom.skills._render_ports import ShellCommand, ShellOutcome
    from greenroom.skills._skill import Skill
    from greenroom.skills._skill_arguments import Arguments
    from greenroom.skills._skill_catalog import Skills, listing
    from greenroom.skills._skill_source import SkillSource
    from greenroom.skills._template import Reference, parse_template
else:
    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "greenroom.skills._command_line": ("read_command_line",),
            "greenroom.skills._invoked": ("InvokedSkills",),
            "greenroom.skills._render": ("Rendered", "RenderPorts", "SkillFailed", "render_skill"),
            "greenroom.skills._render_ports": ("ShellCommand", "ShellOutcome"),
            "greenroom.skills._skill": ("Skill",),
            "greenroom.skills._skill_arguments": ("Arguments",),
            "greenroom.skills._skill_catalog": ("Skills", "listing"),
            "greenroom.skills._skill_source": ("SkillSource",),
            "greenroom.skills._template": ("Reference", "parse_template"),
        },
    )

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
