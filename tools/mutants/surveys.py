"""Mutants of the survey: secrets and their masks, rings, unused code, stale documentation, risky calls, empty tests, the linter."""

from __future__ import annotations

from typing import Final

from tools.mutants.catalogue import Mutant

_FORMS: Final = "greenroom.containment._secret_forms"
_FORM_TESTS: Final = ("tests/containment/test_secret_forms.py",)
_SURVEY: Final = "greenroom.swarm.survey"
_TREE_TESTS: Final = ("tests/swarm/test_tree_facts.py",)
_LINTER_TESTS: Final = ("tests/swarm/test_linter.py",)
_PLANTED_TESTS: Final = ("tests/swarm/test_survey_report.py",)
_PLANTED: Final = ("SV-5",)

SURVEYS: Final = (
    Mutant(
        "a placeholder is a secret",
        ("SV-1",),
        _FORMS,
        " or _PLACEHOLDER.search(value.lower()):\n        return False",
        ":\n        return False",
        tests=_FORM_TESTS,
    ),
    Mutant(
        "a key of a service is not looked for",
        ("SV-1",),
        _FORMS,
        "len(set(body)) >= _DISTINCT_OF_KEY and",
        "len(set(body)) >= 99 and",
        tests=_FORM_TESTS,
    ),
    Mutant(
        "the form of a secret is not masked",
        ("SV-2",),
        _FORMS,
        "            lines[at] = _masked_line(line)\n",
        "            lines[at] = line\n",
        tests=_FORM_TESTS,
    ),
    Mutant(
        "a value without quotes is not masked",
        ("SV-2",),
        _FORMS,
        "find_secrets(line, plain_values=True)",
        "find_secrets(line)",
        tests=_FORM_TESTS,
    ),
    Mutant(
        "the lines of a private key are left",
        ("SV-2",),
        _FORMS,
        "            is_private = _KEY_BEGINS.search(line) is not None\n",
        "            is_private = False\n",
        tests=_FORM_TESTS,
    ),
    Mutant(
        "the line of a secret is shown",
        ("SV-2",),
        f"{_SURVEY}._tree_tool",
        'Placed("secret", match_.path, match_.line, form)',
        'Placed("secret", match_.path, match_.line, match_.text)',
        tests=_TREE_TESTS,
    ),
    Mutant(
        "the line of a finding shows its secret",
        ("SV-2",),
        f"{_SURVEY}._python",
        'text = " ".join(mask_forms(text).split())',
        'text = " ".join(text.split())',
        tests=_TREE_TESTS,
    ),
    Mutant(
        "an import for type checkers makes a ring",
        ("SV-3",),
        f"{_SURVEY}._module_index",
        "yield from _imports(path, inner, time if is_not else ImportTime.NEVER)",
        "yield from _imports(path, inner, time)",
        tests=_TREE_TESTS,
    ),
    Mutant(
        "an import in a function runs at once",
        ("SV-3",),
        f"{_SURVEY}._module_index",
        "ImportTime.CALL if time is ImportTime.LOAD else time",
        "time",
        tests=_TREE_TESTS,
    ),
    Mutant(
        "what the linter confirms is told twice",
        ("SV-4",),
        f"{_SURVEY}._findings",
        "if rule is not None and rule[1] not in MORE:",
        "if rule is None:",
        tests=_LINTER_TESTS,
    ),
    Mutant(
        "the linter reads the project's configuration",
        ("SV-4",),
        f"{_SURVEY}._linter",
        '"check", "--isolated", ',
        '"check", ',
        tests=_LINTER_TESTS,
    ),
    Mutant(
        "a recursive function is used",
        _PLANTED,
        f"{_SURVEY}._unused_code",
        "uses[definition.name] <= definition.own_uses",
        "uses[definition.name] == 0",
        tests=_PLANTED_TESTS,
    ),
    Mutant(
        "a name in another file counts for nothing",
        _PLANTED,
        f"{_SURVEY}._unused_code",
        " if one.definition.name not in named_elsewhere",
        "",
        tests=_PLANTED_TESTS,
    ),
    Mutant(
        "documentation of the past is judged",
        _PLANTED,
        f"{_SURVEY}._stale_documents",
        "if is_past or _GONE.search(line):",
        "if is_past:",
        tests=_PLANTED_TESTS,
    ),
    Mutant(
        "names in the documentation are not looked up",
        _PLANTED,
        f"{_SURVEY}._stale_documents",
        "    return parts[at] not in module.bound and",
        "    return parts[at] in module.bound and",
        tests=_PLANTED_TESTS,
    ),
    Mutant(
        "a statement of SQL may be made of values",
        _PLANTED,
        f"{_SURVEY}._risky_calls",
        'yield Spot("sql", inner.lineno)',
        "yield from ()",
        tests=_PLANTED_TESTS,
    ),
    Mutant(
        "a filter for an archive is not seen",
        _PLANTED,
        f"{_SURVEY}._risky_calls",
        'if is_tar and "filter" not in keywords:',
        "if is_tar:",
        tests=_PLANTED_TESTS,
    ),
    Mutant(
        "a test that asserts nothing is a good one",
        _PLANTED,
        f"{_SURVEY}._empty_tests",
        "if has_call and not any(map(_may_check, inner)):",
        "if False:",
        tests=_PLANTED_TESTS,
    ),
    Mutant(
        "an error that is looked at later is a broad one",
        _PLANTED,
        f"{_SURVEY}._empty_tests",
        " or item.optional_vars is not None:",
        ":",
        tests=_PLANTED_TESTS,
    ),
)
"""In the order of the promises."""
