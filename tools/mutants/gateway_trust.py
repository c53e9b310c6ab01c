"""Mutants of the gateway's trust: routing, the decision about messages, pairing, limits, questions, and commands."""

from __future__ import annotations

from typing import Final

from tools.mutants.catalogue import Mutant

_ADMISSION: Final = "greenroom.gateway.trust._chat_admission"
_ADMISSION_TESTS: Final = ("tests/gateway/trust/test_chat_admission.py",)
_APPROVALS: Final = "greenroom.gateway.trust._approval_desk"
_APPROVAL_TESTS: Final = ("tests/gateway/trust/test_approval_desk.py",)
_COMMANDS: Final = "greenroom.gateway.commands._command_table"
_COMMAND_TESTS: Final = ("tests/gateway/commands/test_chat_commands.py",)
_CONTEXT: Final = "greenroom.gateway.trust._group_context"
_LIMITS: Final = "greenroom.gateway.trust._chat_limits"
_PAIRING: Final = "greenroom.gateway.trust._pairing"
_PAIRING_TESTS: Final = ("tests/gateway/trust/test_pairing.py",)
_PEOPLE_TESTS: Final = ("tests/gateway/trust/test_people_of_a_gateway.py",)
_RECEPTION: Final = "greenroom.gateway.trust._reception"
_RECEPTION_TESTS: Final = ("tests/gateway/trust/test_reception.py",)
_ROUTING: Final = "greenroom.gateway.routing._message_routing"
_ROUTING_TESTS: Final = ("tests/gateway/routing/test_message_routing.py",)
_SENDERS: Final = "greenroom.gateway.trust._senders"
_SUBAGENTS: Final = "greenroom.gateway.commands._subagent_texts"
_SUBAGENT_TESTS: Final = ("tests/gateway/commands/test_subagent_texts.py",)

GATEWAY_TRUST: Final = (
    Mutant(
        "the record of a message to a stranger holds the code",
        ("A27-b",),
        "greenroom.gateway.trust._reception",
        "pairing_text(HIDDEN), item)",
        "pairing_text(code), item)",
        tests=_PAIRING_TESTS,
    ),
    Mutant(
        "everybody's direct messages go to the main session",
        ("A24-a", "A24-b"),
        _ROUTING,
        'case "owner-main" if is_owner:',
        'case "owner-main":',
        tests=_ROUTING_TESTS,
    ),
    Mutant(
        "a linked name may be that of somebody else",
        ("A24-a",),
        _ROUTING,
        'return f":{linked_name}" if ":" in linked_name else linked_name',
        "return linked_name",
        tests=_ROUTING_TESTS,
    ),
    Mutant(
        "of two bindings the last one decides",
        (),
        _ROUTING,
        "best = max(fitting, key=_precision, default=None)",
        "best = max(reversed(fitting), key=_precision, default=None)",
        tests=_ROUTING_TESTS,
    ),
    Mutant(
        "people who were paired may write under an allowlist",
        ("A27-a",),
        _ADMISSION,
        '    if account.dm_policy != "pairing":\n',
        '    if account.dm_policy not in {"pairing", "allowlist"}:\n',
        tests=_ADMISSION_TESTS,
    ),
    Mutant(
        "an owner is let in although direct messages are disabled",
        ("A27-a",),
        _ADMISSION,
        '    if account.dm_policy == "disabled":\n        return SenderKind.STRANGER, "dmPolicy is disabled"\n',
        "",
        tests=_ADMISSION_TESTS,
    ),
    Mutant(
        "a group that is not listed is heard",
        ("A27-a",),
        _ADMISSION,
        'if account.group_policy == "allowlist" and group is None:',
        'if account.group_policy == "never" and group is None:',
        tests=_ADMISSION_TESTS,
    ),
    Mutant(
        "a person may give every command",
        ("A27-a", "A27-c"),
        _ADMISSION,
        "if name and admission.kind in COMMANDS.get(name, ()):",
        "if name in COMMANDS:",
        tests=_ADMISSION_TESTS,
    ),
    Mutant(
        "a command waits for a place as a message",
        ("A31-b",),
        _ADMISSION,
        "return attrs.evolve(admission, action=AdmissionAction.COMMAND, text=bare.strip())",
        "return admission",
        tests=_PEOPLE_TESTS,
    ),
    Mutant(
        "a result is told in the chat, not in the thread",
        ("A24-c",),
        _RECEPTION,
        'route = attrs.evolve(inbound.route, answers="")  # answers',
        'route = attrs.evolve(inbound.route, thread="")  # answers',
        tests=_PEOPLE_TESTS,
    ),
    Mutant(
        "a result stands among the gateway's own words",
        ("A27-d",),
        "greenroom.gateway.announce._quotes",
        'QUOTE: Final = "> "',
        'QUOTE: Final = ""',
        tests=_PEOPLE_TESTS,
    ),
    Mutant(
        "a message to a sub-agent is sent again for its reply",
        ("A14-e",),
        "greenroom.gateway.commands._chat_commands",
        "        return send_text(await self._host.send(step.session, step.text, caller))\n",
        "        await self._host.send(step.session, step.text, caller)\n"
        "        return send_text(await self._host.send(step.session, step.text, caller))\n",
        tests=_PEOPLE_TESTS,
    ),
    Mutant(
        "a message begins a command of the shell in every chat",
        ("A31-c",),
        _ADMISSION,
        "may_bash = config.commands.bash and is_direct",
        "may_bash = config.commands.bash",
        tests=_ADMISSION_TESTS,
    ),
    Mutant(
        "an id that others can take makes an owner",
        (),
        _SENDERS,
        "if sender.assurance is Assurance.MASK:",
        "if sender.assurance is None:",
        tests=_ADMISSION_TESTS,
    ),
    Mutant(
        "a name is shown as it came",
        ("A27-c",),
        _SENDERS,
        "name = shown_name(sender.name) or ",
        "name = sender.name or ",
        tests=_ADMISSION_TESTS,
    ),
    Mutant(
        "a stranger gets a code with each message",
        ("A27-b",),
        _PAIRING,
        "    if sender in open_names:\n",
        "    if sender in expired:\n",
        tests=(*_PAIRING_TESTS, *_RECEPTION_TESTS),
    ),
    Mutant(
        "codes may be guessed without a pause",
        ("A27-b",),
        _PAIRING,
        "            self._wrong.append(now_s)\n",
        "",
        tests=_PAIRING_TESTS,
    ),
    Mutant(
        "each refusal is on record",
        ("A27-b",),
        _LIMITS,
        "is_known = count >= 0 and 0 <= now_s - last_s < MINUTE_S",
        "is_known = False",
        tests=_RECEPTION_TESTS,
    ),
    Mutant(
        "a chat is told about each message that was dropped",
        ("A29-a",),
        _LIMITS,
        "return LimitVerdict.TELL if row.dropped == 1 else LimitVerdict.DROP",
        "return LimitVerdict.TELL",
        tests=_RECEPTION_TESTS,
    ),
    Mutant(
        "a chat may have any number of turns that wait",
        ("A29-a",),
        _RECEPTION,
        "        return len(waiting - {str(key)})\n",
        "        return 0\n",
        tests=_RECEPTION_TESTS,
    ),
    Mutant(
        "the same message outside is another one each time",
        (),
        _RECEPTION,
        "return str(uuid.uuid5(NAMESPACE, json.dumps(words)))",
        "return str(uuid.uuid4())",
        tests=_RECEPTION_TESTS,
    ),
    Mutant(
        "a command is carried out again when its message comes again",
        (),
        _RECEPTION,
        "        if self._is_done(item):\n            return  # it was carried out, and came again\n",
        "",
        tests=_RECEPTION_TESTS,
    ),
    Mutant(
        "old commands are carried out",
        (),
        _RECEPTION,
        'if not age_s < limit_s else ""',
        'if age_s < 0 else ""',
        tests=_RECEPTION_TESTS,
    ),
    Mutant(
        "further lines of a quoted message stand alone",
        (),
        _CONTEXT,
        'f">   {line}".rstrip()',
        "line.rstrip()",
        tests=_RECEPTION_TESTS,
    ),
    Mutant(
        "an owner's words to others are consent",
        (),
        _RECEPTION,
        'origin = channel(f"{route.channel} {route.kind.value}, before it")',
        "from greenroom.inbox import HUMAN as origin",
        tests=_RECEPTION_TESTS,
    ),
    Mutant(
        "a question outlives its session",
        (),
        "greenroom.gateway.trust._question_relay",
        "                await self._withdraw(mine)\n",
        "                mine.clear()\n",
        tests=("tests/gateway/trust/test_question_relay.py",),
    ),
    Mutant(
        "both answers to a question count",
        ("A27-f",),
        _APPROVALS,
        "        if self._open.pop(id_, None) is None:\n            return False\n        self._remember(id_, end)\n",
        "        self._remember(id_, end)\n",
        tests=_APPROVAL_TESTS,
    ),
    Mutant(
        "a question waits without an end",
        ("A27-f",),
        _APPROVALS,
        "            with trio.move_on_at(next_s):\n",
        "            with trio.move_on_at(float('inf')):\n",
        tests=_APPROVAL_TESTS,
    ),
    Mutant(
        "the oldest sub-agent is the first of a list",
        ("A14-a",),
        _SUBAGENTS,
        "for number, run in enumerate(runs, start=1))",
        "for number, run in enumerate(reversed(runs), start=1))",
        tests=_SUBAGENT_TESTS,
    ),
    Mutant(
        "of two runs whose ids begin alike the newer one is meant",
        ("A14-b",),
        _SUBAGENTS,
        "    if len(found) == 1 or exact:\n",
        "    if found or exact:\n",
        tests=_SUBAGENT_TESTS,
    ),
    Mutant(
        "a number outside the list is an unknown id",
        ("A14-b",),
        _SUBAGENTS,
        "    if is_number:\n        return NoTarget(",
        "    if not wanted:\n        return NoTarget(",
        tests=_SUBAGENT_TESTS,
    ),
    Mutant(
        "runs of every session can be meant",
        ("A14-c",),
        "greenroom.gateway.commands._chat_state",
        'return [run for run in self.registry.runs_of(self.key) if run.announce != "none"]',
        "return list(self.registry.runs.values())[::-1]",
        tests=_SUBAGENT_TESTS,
    ),
    Mutant(
        "a log has no limit",
        ("A14-d",),
        _SUBAGENTS,
        "min(MAX_LOG, max(1, number))",
        "max(1, number)",
        tests=_SUBAGENT_TESTS,
    ),
    Mutant(
        "a log always shows tools",
        ("A14-d",),
        _SUBAGENTS,
        "if with_tools or not each.is_tool if",
        "if",
        tests=_SUBAGENT_TESTS,
    ),
    Mutant(
        "a command has a right that its method lacks",
        ("A31-a",),
        _COMMANDS,
        "    if command is None or state.caller.kind not in COMMANDS[name]:\n",
        "    if command is None:\n",
        tests=_COMMAND_TESTS,
    ),
    Mutant(
        "a person ends turns of others",
        ("A27-c",),
        _COMMANDS,
        "if state.is_busy and state.turn_senders == {state.caller.who}:",
        "if state.is_busy and state.caller.who in state.turn_senders:",
        tests=_COMMAND_TESTS,
    ),
)
