"""The environment of every program that greenroom starts.

Rule 1: nobody else passes the environment of the process on; `tests/architecture/test_containment.py` holds that. Rule 2: a
variable whose name says that it holds a secret reaches no program, unless somebody names it: the settings under `env` or
`pass_env`, a server under its own `env`. Rule 3: an MCP server, which is a program of strangers more often than not, gets a
small set of variables and what is named.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Final

SECRET_PREFIXES: Final = ("ANTHROPIC_", "AWS_", "AZURE_", "CLOUDSDK_AUTH_", "GOOGLE_", "OPENAI_", "VERTEX_")
"""Variables of providers; all of them but those of `HARMLESS`."""
SECRET_WORDS: Final = (
    *("APIKEY", "API_KEY", "ACCESS_KEY", "ACCOUNT_KEY", "AUTH_KEY", "ENCRYPTION_KEY", "MASTER_KEY", "PRIVATE_KEY"),
    *("SECRET", "SECRETS", "SIGNING_KEY", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "CREDENTIALS"),
)
"""Words that make a name one of a secret, between underscores or at its ends."""
SECRET_ENDS: Final = (
    *("TOKEN", "TOKENS", "PAT", "JWT", "BEARER", "COOKIE", "PASS", "PWD", "AUTH", "AUTHORIZATION"),
    *("CONNECTION_STRING", "DATABASE_URL", "DSN", "WEBHOOK_URL"),
)
"""Words that do so as the last one."""
SECRET_TAILS: Final = ("PASSWORD", "SECRET", "APIKEY", "TOKEN")
"""Letters that do so at the end, also without an underscore before them, as in `PGPASSWORD`."""
HARMLESS: Final = frozenset(
    (
        *("PWD", "OLDPWD", "ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL", "ANTHROPIC_SMALL_FAST_MODEL"),
        *("AWS_DEFAULT_OUTPUT", "AWS_DEFAULT_REGION", "AWS_PAGER", "AWS_REGION", "GOOGLE_CLOUD_PROJECT"),
        *("OPENAI_API_BASE", "OPENAI_BASE_URL", "OPENAI_MODEL", "SSH_AUTH_SOCK", "TOKENIZERS_PARALLELISM"),
    )
)
"""Names that look like one and hold none."""
SERVER_VARIABLES: Final = (
    *("HOME", "LANG", "LANGUAGE", "LC_*", "LOGNAME", "PATH", "SHELL", "TEMP", "TERM", "TMP", "TMPDIR", "TZ", "USER"),
    *("ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "all_proxy", "https_proxy", "http_proxy", "no_proxy"),
    *("CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "SSL_CERT_DIR", "SSL_CERT_FILE"),
    *("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"),
)
"""What an MCP server gets of the environment of the process; `*` stands for any end."""
_SECRET: Final = re.compile(
    rf"(?:^|_)(?:{'|'.join(SECRET_WORDS)})(?:_|$)"
    rf"|(?:(?:^|_)(?:{'|'.join(SECRET_ENDS)})|{'|'.join(SECRET_TAILS)})(?:_\d+|_B64|_BASE64)*$"
)


class ChildKind(StrEnum):
    """What a program is started as."""

    COMMAND = "command"
    """A command of an agent, a hook, git: it gets the environment, less what holds secrets."""
    SERVER = "server"
    """An MCP server, or what finds its headers: it gets the small set."""


def holds_secret(name: str) -> bool:
    """Return True if the name of a variable says that it holds a secret."""
    upper = name.upper()
    if upper in HARMLESS:
        return False
    return upper.startswith(SECRET_PREFIXES) or _SECRET.search(upper) is not None


def names_secret_value(name: str) -> bool:
    """Return True if the value of a variable is a secret by itself, and not only told by it, as a profile or a path is."""
    upper = name.upper()
    return upper not in HARMLESS and (upper == "AWS_ACCESS_KEY_ID" or _SECRET.search(upper) is not None)


def child_environment(
    kind: ChildKind,
    environ: Mapping[str, str] | None = None,
    *,
    named: Mapping[str, str] | None = None,
    passed: Iterable[str] = (),
) -> dict[str, str]:
    """Return the environment of a program.

    Args:
        kind: What the program is.
        environ: The environment that a part is taken of; by default that of the process.
        named: Variables that somebody named with their values, such as `env` of the settings; all of them are in it.
        passed: Names of variables of `environ` that are passed on whatever they hold; `*` stands for any characters.
    """
    patterns = tuple(passed)

    def is_wanted(name: str) -> bool:
        if any(fnmatchcase(name, pattern) for pattern in patterns):
            return True
        if kind is ChildKind.SERVER:
            return any(fnmatchcase(name, pattern) for pattern in SERVER_VARIABLES)
        return not holds_secret(name)

    environ = os.environ if environ is None else environ
    return {**{name: value for name, value in environ.items() if is_wanted(name)}, **(named or {})}
