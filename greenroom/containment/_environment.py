"""The environment of every program that greenroom starts.

Rule 1: no other module passes the environment of the process on; `tests/architecture/test_containment.py` checks that.
Rule 2: a variable whose name indicates a secret is passed to no program unless it is named: in the settings under `env`
or `pass_env`, or by a server under its own `env`. Rule 3: an MCP server, which is often a stranger's program, gets a
small set of variables and the named ones.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Final

SECRET_PREFIXES: Final = ("ANTHROPIC_", "AWS_", "AZURE_", "CLOUDSDK_AUTH_", "GOOGLE_", "OPENAI_", "VERTEX_")
"""Prefixes of providers' variables; secret unless listed in `HARMLESS`."""
SECRET_WORDS: Final = (
    *("APIKEY", "API_KEY", "ACCESS_KEY", "ACCOUNT_KEY", "AUTH_KEY", "ENCRYPTION_KEY", "MASTER_KEY", "PRIVATE_KEY"),
    *("SECRET", "SECRETS", "SIGNING_KEY", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "CREDENTIALS"),
)
"""Words that indicate a secret, between underscores or at either end."""
SECRET_ENDS: Final = (
    *("TOKEN", "TOKENS", "PAT", "JWT", "BEARER", "COOKIE", "PASS", "PWD", "AUTH", "AUTHORIZATION"),
    *("CONNECTION_STRING", "DATABASE_URL", "DSN", "WEBHOOK_URL"),
)
"""Words that indicate a secret as the last one."""
SECRET_TAILS: Final = ("PASSWORD", "SECRET", "APIKEY", "TOKEN")
"""Endings that indicate a secret even without an underscore before them, as in `PGPASSWORD`."""
HARMLESS: Final = frozenset(
    (
        *("PWD", "OLDPWD", "ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL", "ANTHROPIC_SMALL_FAST_MODEL"),
        *("AWS_DEFAULT_OUTPUT", "AWS_DEFAULT_REGION", "AWS_PAGER", "AWS_REGION", "GOOGLE_CLOUD_PROJECT"),
        *("OPENAI_API_BASE", "OPENAI_BASE_URL", "OPENAI_MODEL", "SSH_AUTH_SOCK", "TOKENIZERS_PARALLELISM"),
    )
)
"""Names that look like secrets but are not."""
GIT_PLACES: Final = frozenset(
    (
        *("GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_CONFIG", "GIT_CONFIG_COUNT"),
        *("GIT_CONFIG_PARAMETERS", "GIT_DIR", "GIT_GRAFT_FILE", "GIT_IMPLICIT_WORK_TREE", "GIT_INDEX_FILE"),
        *("GIT_INTERNAL_SUPER_PREFIX", "GIT_NAMESPACE", "GIT_NO_REPLACE_OBJECTS", "GIT_OBJECT_DIRECTORY"),
        *("GIT_PREFIX", "GIT_QUARANTINE_PATH", "GIT_REPLACE_REF_BASE", "GIT_SHALLOW_FILE", "GIT_WORK_TREE"),
    )
)
"""Variables by which a git, such as one whose hook started greenroom, tells its children the repository and its settings;
a program in another folder or in a worktree would work in the wrong one.
"""
SERVER_VARIABLES: Final = (
    *("HOME", "LANG", "LANGUAGE", "LC_*", "LOGNAME", "PATH", "SHELL", "TEMP", "TERM", "TMP", "TMPDIR", "TZ", "USER"),
    *("ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "all_proxy", "https_proxy", "http_proxy", "no_proxy"),
    *("CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "SSL_CERT_DIR", "SSL_CERT_FILE"),
    *("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"),
)
"""Variables of the process that an MCP server gets; `*` stands for any ending."""
_SECRET: Final = re.compile(
    rf"(?:^|_)(?:{'|'.join(SECRET_WORDS)})(?:_|$)"
    rf"|(?:(?:^|_)(?:{'|'.join(SECRET_ENDS)})|{'|'.join(SECRET_TAILS)})(?:_\d+|_B64|_BASE64)*$"
)


class ChildKind(StrEnum):
    """Kind of a started program."""

    COMMAND = "command"
    """A command of an agent, a hook, git: it gets the environment without secrets and without git's places."""
    SERVER = "server"
    """An MCP server, or the program that computes its headers: it gets the small set."""


def holds_secret(name: str) -> bool:
    """Return True if the name of a variable indicates a secret."""
    upper = name.upper()
    if upper in HARMLESS:
        return False
    return upper.startswith(SECRET_PREFIXES) or _SECRET.search(upper) is not None


def names_secret_value(name: str) -> bool:
    """Return True if the value of a variable is itself a secret, rather than a reference to one, such as a profile or a
    path.
    """
    upper = name.upper()
    return upper not in HARMLESS and (upper == "AWS_ACCESS_KEY_ID" or _SECRET.search(upper) is not None)


def withheld_names(passed: Iterable[str]) -> tuple[str, ...]:
    """Return the names, without their `!`, that a list of names to pass on withholds."""
    return tuple(name.removeprefix("!") for name in passed if name.startswith("!"))


def child_environment(
    kind: ChildKind,
    environ: Mapping[str, str] | None = None,
    *,
    named: Mapping[str, str] | None = None,
    passed: Iterable[str] = (),
) -> dict[str, str]:
    """Return the environment of a program.

    Args:
        kind: The kind of program.
        environ: The base environment; by default that of the process.
        named: Variables given with their values, such as `env` of the settings; all are included.
        passed: Names of variables of `environ` that are passed on in any case; `*` stands for any characters. With `!` in
            front of it, a name is passed on in no case.
    """
    patterns = tuple(passed)
    withheld = withheld_names(patterns)

    def is_wanted(name: str) -> bool:
        if any(fnmatchcase(name, pattern) for pattern in withheld):
            return False
        if any(fnmatchcase(name, pattern) for pattern in patterns):
            return True
        if kind is ChildKind.SERVER:
            return any(fnmatchcase(name, pattern) for pattern in SERVER_VARIABLES)
        return not (holds_secret(name) or name in GIT_PLACES)

    environ = os.environ if environ is None else environ
    return {**{name: value for name, value in environ.items() if is_wanted(name)}, **(named or {})}
