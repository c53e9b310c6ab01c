"""Mutants of the gateway's sessions: their models, credentials, settings and resets."""

from __future__ import annotations

from typing import Final

from tools.mutants.catalogue import Mutant

_CREDENTIALS: Final = "greenroom.gateway.keepers._credentials"
_ENVIRONMENT: Final = "greenroom.containment._environment"
_FALLBACKS: Final = "greenroom.models._fallbacks"
_FALLBACK_TESTS: Final = ("tests/models/test_fallbacks.py",)
_MODELS: Final = "greenroom.gateway.process._gateway_models"
_SESSION_MODELS: Final = "greenroom.gateway.keepers._session_models"
_SETUP: Final = "greenroom.gateway.keepers._agent_setup"
_SETUP_TESTS: Final = ("tests/gateway/keepers/test_agent_setup.py",)

GATEWAY_SESSIONS: Final = (
    Mutant(
        "the main agent's key comes before the agent's own",
        ("A9-b",),
        _CREDENTIALS,
        "dict.fromkeys((agent_id, MAIN_AGENT))",
        "dict.fromkeys((MAIN_AGENT, agent_id))",
        tests=_SETUP_TESTS,
    ),
    Mutant(
        "profiles of agents are not asked",
        ("A9-b", "A21-d"),
        _MODELS,
        "secret = find_credential(config, agent, provider, state_folder=self._state_folder, base=self._base)",
        "secret = None",
        tests=_SETUP_TESTS,
    ),
    Mutant(
        "a key that cannot be read is replaced by a variable",
        ("A9-b",),
        _MODELS,
        "key = self._environ.get(variable) if secret is None else self._secrets.read_now(secret)",
        "key = self._environ.get(variable) or (secret and self._secrets.read_now(secret))",
        tests=_SETUP_TESTS,
    ),
    Mutant(
        "the variables of profiles reach commands",
        ("A9-e",),
        _SETUP,
        "dict.fromkeys((*named, *self.secret_variables))",
        "dict.fromkeys(named)",
        tests=_SETUP_TESTS,
    ),
    Mutant(
        "a withheld variable is passed on",
        ("A9-e",),
        _ENVIRONMENT,
        "        if any(fnmatchcase(name, pattern) for pattern in withheld):\n            return False\n",
        "",
        tests=_SETUP_TESTS,
    ),
    Mutant(
        "the state folder is seen in the sandbox",
        ("A9-f",),
        _SETUP,
        '"unreadable": ["~", *map(str, self.unreadable)]',
        '"unreadable": ["~"]',
        tests=_SETUP_TESTS,
    ),
    Mutant(
        "a workspace is covered by the home that it is in",
        ("A9-f",),
        "greenroom.containment._sandbox",
        "sorted(mounts, key=lambda mount: len(mount[0].parts))",
        "reversed(mounts)",
        tests=_SETUP_TESTS,
    ),
    Mutant(
        "off leaves thinking to the model",
        (),
        _SESSION_MODELS,
        '        return "disabled"\n',
        "        return None\n",
        tests=_SETUP_TESTS,
    ),
    Mutant(
        "fallbacks are asked in the middle of a turn",
        (),
        _FALLBACKS,
        "        if request.model or not begins_turn(request):\n",
        "        if request.model:\n",
        tests=_FALLBACK_TESTS,
    ),
    Mutant(
        "a fallback answers only one request",
        (),
        _FALLBACKS,
        "        self._answering[self._request.agent] = name\n",
        "",
        tests=_FALLBACK_TESTS,
    ),
)
