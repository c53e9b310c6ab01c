"""Mutants of the gateway's configuration: its reading, its keys, and the tools that it offers."""

from __future__ import annotations

from typing import Final

from tools.mutants.catalogue import Mutant

_AGENTS: Final = "greenroom.gateway.config._agents"
_FILES: Final = "greenroom.gateway.config._files"
_KEYS: Final = "greenroom.gateway.routing._session_key"
_KEY_TESTS: Final = ("tests/gateway/routing/test_session_key.py",)
_READER: Final = "greenroom.gateway.config._reader"
_READER_TESTS: Final = ("tests/gateway/config/test_read_config.py",)
_TOOLS: Final = "greenroom.gateway.policy._tool_policy"
_TOOL_TESTS: Final = ("tests/gateway/policy/test_tool_policy.py",)

GATEWAY_CONFIGURATION: Final = (
    Mutant(
        "a sub-agent may start others",
        ("A8-a", "A8-b", "A8-g"),
        _TOOLS,
        "ToolRules(deny=tuple(denied))",
        "ToolRules()",
        tests=_TOOL_TESTS,
    ),
    Mutant(
        "a denial of a tool is ignored",
        ("A8-c", "A8-d", "A8-h"),
        _TOOLS,
        "    return is_allowed and not any(fits(pattern, name) for pattern in rules.deny)\n",
        "    return is_allowed\n",
        tests=_TOOL_TESTS,
    ),
    Mutant(
        "a later list brings back tools",
        ("A8-e", "A8-f"),
        _TOOLS,
        "        left = [name for name in left if name not in why]\n",
        "        left = [name for name in tool_names if _keeps(kept, name)]\n",
        tests=_TOOL_TESTS,
    ),
    Mutant(
        "the lists of sub-agents are ignored",
        ("A21-a",),
        _TOOLS,
        '[("tools.subagents.tools", config.tools.subagents.tools)]',
        "[]",
        tests=_TOOL_TESTS,
    ),
    Mutant(
        "the key of a sub-agent has the id as it was written",
        ("A1-b",),
        _KEYS,
        "    return SessionKey(normal_agent_id(agent), SubagentSession(id_))\n",
        "    return SessionKey(agent, SubagentSession(id_))\n",
        tests=_KEY_TESTS,
    ),
    Mutant(
        "keys of sub-agents are short",
        ("A1-d",),
        _KEYS,
        "    return SessionKey(normal_agent_id(agent), SubagentSession(id_))\n",
        "    return SessionKey(normal_agent_id(agent), SubagentSession(id_[:2]))\n",
        tests=_KEY_TESTS,
    ),
    Mutant(
        "the session of all is always listed",
        ("A1-f",),
        _KEYS,
        '    return key != "unknown" and (key != "global" or scope == "global")\n',
        '    return key != "unknown"\n',
        tests=_KEY_TESTS,
    ),
    Mutant(
        "names in keys are not encoded",
        ("A24-a",),
        _KEYS,
        "    encoded = _MUST_ENCODE.sub(_percent, name)\n",
        "    encoded = name\n",
        tests=_KEY_TESTS,
    ),
    Mutant(
        "the lane of sub-agents is narrower by default",
        ("A19-a",),
        _AGENTS,
        "    max_concurrent: PositiveInt = 8\n",
        "    max_concurrent: PositiveInt = 7\n",
        tests=_READER_TESTS,
    ),
    Mutant(
        "problems lose their path",
        ("A19-b", "A23-b"),
        _READER,
        "                found.add(pruned.written(place), _in_words(problem, place))\n",
        "                found.add(pruned.written(place)[:1], _in_words(problem, place))\n",
        tests=_READER_TESTS,
    ),
    Mutant(
        "a width may be below one",
        ("A19-c",),
        _READER,
        "    return max(1, math.floor(written))\n",
        "    return math.floor(written)\n",
        tests=_READER_TESTS,
    ),
    Mutant(
        "never is no archive time",
        ("A19-d",),
        _AGENTS,
        "    archive_after_minutes: Count = 60\n",
        "    archive_after_minutes: PositiveInt = 60\n",
        tests=_READER_TESTS,
    ),
    Mutant(
        "nesting has no limit",
        ("A23-a",),
        "greenroom.core.sources._json5",
        "    if depth > MAX_NESTING:\n",
        "    if depth < 0:\n",
        tests=_READER_TESTS,
    ),
    Mutant(
        "the configuration file is written back",
        ("A23-c",),
        _FILES,
        "            text = read_text(path, most=self._bytes_left)\n",
        '            text = read_text(path, most=self._bytes_left)\n            path.write_text(text + "\\n")\n',
        tests=_READER_TESTS,
    ),
    Mutant(
        "effective values show secrets",
        ("A23-d",),
        "greenroom.gateway.config._effective",
        '            return HIDDEN if value.kind == "text" else value.place\n',
        "            return str([getattr(value, field.name) for field in attrs.fields(type(value))])\n",
        tests=_READER_TESTS,
    ),
)
"""At least one for each promise of the configuration."""
