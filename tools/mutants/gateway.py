"""Mutants of the gateway: its registry, its plans, and the texts of its announcements."""

from __future__ import annotations

from typing import Final

from tools.mutants.catalogue import Mutant

_ANNOUNCEMENT: Final = "greenroom.gateway.announce._announcement"
_ANNOUNCEMENT_TESTS: Final = ("tests/gateway/announce/test_announcement.py",)
_ARCHIVE: Final = "greenroom.gateway.record._archive_names"
_JOURNAL: Final = "greenroom.gateway.record._gateway_journal"
_JOURNAL_TESTS: Final = ("tests/gateway/record/test_gateway_journal.py",)
_PARTS: Final = "greenroom.gateway.announce._parts"
_PARTS_TESTS: Final = ("tests/gateway/announce/test_parts.py",)
_QUEUE: Final = "greenroom.gateway.announce._queue_plan"
_QUEUE_TESTS: Final = ("tests/gateway/announce/test_queue_plan.py",)
_QUOTES: Final = "greenroom.gateway.announce._quotes"
_RECOVERY: Final = "greenroom.gateway.record._recovery_plan"
_RECOVERY_TESTS: Final = ("tests/gateway/record/test_recovery_plan.py",)
_REGISTRY: Final = "greenroom.gateway.record._registry"
_REGISTRY_TESTS: Final = ("tests/gateway/record/test_registry.py",)
_RETRY: Final = "greenroom.gateway.announce._retry_plan"
_RETRY_TESTS: Final = ("tests/gateway/announce/test_retry_plan.py",)

GATEWAY: Final = (
    Mutant(
        "an event is recorded before the registry allows it",
        ("A5-e",),
        _JOURNAL,
        "        self.registry.fold(event)\n        return self.journal.recorder.emit(event)\n",
        "        seq = self.journal.recorder.emit(event)\n        self.registry.fold(event)\n        return seq\n",
        tests=_JOURNAL_TESTS,
    ),
    Mutant(
        "a damaged journal is not put aside",
        ("A5-f",),
        _JOURNAL,
        "if self.damaged_lines or found.size > self.rotate_bytes:",
        "if found.size > self.rotate_bytes:",
        tests=_JOURNAL_TESTS,
    ),
    Mutant(
        "a run may end in any state for any cause",
        ("A5-c",),
        _REGISTRY,
        "        words_for(state, cause)\n",
        "",
        tests=_REGISTRY_TESTS,
    ),
    Mutant(
        "the time without a process counts as work",
        (),
        _REGISTRY,
        "spent_s = each.worked_s(self.last_s)",
        "spent_s = each.worked_s(event.at_s)",
        tests=_REGISTRY_TESTS,
    ),
    Mutant(
        "a settled run stays in the registry",
        (),
        _REGISTRY,
        "if not is_listed and self.completions[row.id].delivery.is_settled:",
        "if not is_listed and row.id not in self.completions:",
        tests=_REGISTRY_TESTS,
    ),
    Mutant(
        "a run that ended unannounced is forgotten at the start",
        ("A5-a",),
        _RECOVERY,
        "        *_completions(registry),\n",
        "",
        tests=_RECOVERY_TESTS,
    ),
    Mutant(
        "a try with an unknown result is repeated without keys",
        (),
        _RECOVERY,
        "if recovery.takes_keys(channel) or recovery.on_unknown is OnUnknown.AGAIN:",
        "if channel:",
        tests=_RECOVERY_TESTS,
    ),
    Mutant(
        "a part that was taken is sent again",
        ("A6-j",),
        _RETRY,
        "    part = len(delivery.taken) + 1\n",
        "    part = 1\n",
        tests=_RETRY_TESTS,
    ),
    Mutant(
        "a clock that is set back makes a wait longer",
        (),
        _RETRY,
        " or now_s < delivery.tried_s else",
        " else",
        tests=_RETRY_TESTS,
    ),
    Mutant(
        "only line feeds are line breaks of a quoted text",
        ("A6-l",),
        _QUOTES,
        "escape_text(text.strip()).splitlines()",
        'escape_text(text.strip()).split("\\n")',
        tests=_ANNOUNCEMENT_TESTS,
    ),
    Mutant(
        "a label is not in quotes",
        ("A6-l",),
        _ANNOUNCEMENT,
        "f'\"{one_line(run.label or run.task, MAX_LISTED)}\"'",
        "one_line(run.task, MAX_LISTED)",
        tests=_ANNOUNCEMENT_TESTS,
    ),
    Mutant(
        "a failed run has the reply as its result",
        ("A6-e",),
        _ANNOUNCEMENT,
        'result = reply.strip() if is_whole else ""',
        "result = reply.strip()",
        tests=_ANNOUNCEMENT_TESTS,
    ),
    Mutant(
        "routes are merged",
        ("A6-g",),
        _QUEUE,
        "return json.dumps(route, sort_keys=True, default=str)",
        'return json.dumps(route.get("channel"))',
        tests=_QUEUE_TESTS,
    ),
    Mutant(
        "a fence that a cut opens is not counted in the limit",
        ("A26-d",),
        _PARTS,
        "room = limit - measure(opening)",
        "room = limit",
        tests=_PARTS_TESTS,
    ),
    Mutant(
        "a character is cut",
        (),
        _PARTS,
        "return not (is_part or is_joined or is_pair)",
        "return True",
        tests=_PARTS_TESTS,
    ),
    Mutant(
        "an announcement that holds the word for skipping is skipped",
        ("A6-b",),
        _ANNOUNCEMENT,
        "    return reply.strip() == SKIP\n",
        "    return SKIP in reply\n",
        tests=_ANNOUNCEMENT_TESTS,
    ),
    Mutant(
        "a model says how its run ended",
        ("A6-c",),
        _ANNOUNCEMENT,
        'f"Status: {words.template}"',
        "f\"Status: {'success' if 'success' in reply else words.template}\"",
        tests=_ANNOUNCEMENT_TESTS,
    ),
    Mutant(
        "an announcement without a reply has an empty result",
        ("A6-d",),
        _ANNOUNCEMENT,
        "result or NOT_AVAILABLE",
        "result",
        tests=_ANNOUNCEMENT_TESTS,
    ),
    Mutant(
        "durations of hours have no minutes",
        ("A7-a",),
        _ANNOUNCEMENT,
        "{whole // 3600}h{whole % 3600 // 60}m",
        "{whole // 3600}h",
        tests=_ANNOUNCEMENT_TESTS,
    ),
    Mutant(
        "what has no price costs nothing",
        ("A7-b",),
        _ANNOUNCEMENT,
        "    if priced:\n",
        "    if costs:\n",
        tests=_ANNOUNCEMENT_TESTS,
    ),
    Mutant(
        "numbers of tokens have two decimals",
        ("A7-c",),
        _ANNOUNCEMENT,
        "{tokens / 1_000_000:.1f}m",
        "{tokens / 1_000_000:.2f}m",
        tests=_ANNOUNCEMENT_TESTS,
    ),
    Mutant(
        "tokens of the cache cost nothing",
        ("A7-d",),
        _ANNOUNCEMENT,
        "pricing.cost(model, usage) for",
        "pricing.cost(model, Usage(usage.input_tokens, usage.output_tokens)) for",
        tests=_ANNOUNCEMENT_TESTS,
    ),
    Mutant(
        "figures without a cut request look whole",
        ("A7-e",),
        _ANNOUNCEMENT,
        '    mark = "+" if is_partial and known else ""\n',
        '    mark = ""\n',
        tests=_ANNOUNCEMENT_TESTS,
    ),
    Mutant(
        "an archived transcript takes the name of another one",
        ("A12-f",),
        _ARCHIVE,
        'f"{wanted}-{number}") not in taken)',
        'f"{wanted}-{number}") is not None)',
        tests=_JOURNAL_TESTS,
    ),
    Mutant(
        "a run ends without a completion",
        ("A5-b",),
        _REGISTRY,
        "        self._put(Completion(run=row.id, ended_s=event.at_s, is_composed=delivery.is_settled, delivery=delivery))\n",
        "",
        tests=_REGISTRY_TESTS,
    ),
    Mutant(
        "a run forgets its label",
        ("A5-d",),
        "greenroom.gateway.record._rows",
        "        task=event.task,\n        label=event.label,\n",
        "        task=event.task,\n",
        tests=_REGISTRY_TESTS,
    ),
    Mutant(
        "a snapshot leaves out the completions",
        ("A28-c",),
        _REGISTRY,
        "        value: dict[str, Any] = _converter().unstructure(self)\n",
        "        value: dict[str, Any] = _converter().unstructure(attrs.evolve(self, completions={}))\n",
        tests=_REGISTRY_TESTS,
    ),
)
