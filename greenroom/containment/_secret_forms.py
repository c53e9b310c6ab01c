"""The forms in which secrets are written down, by which text that holds one is recognized.

Rule 1: there is one table, for the search and for the masker. Rule 2: placeholders, examples, names of fields, hashes and
references to a secret are not secrets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, final

import attrs

from greenroom.containment._environment import names_secret_value

PRIVATE_KEY: Final = "private key"
CONNECTION: Final = "connection string with a password"
ASSIGNED: Final = "value of a password, token or key"

MIN_VALUE_CHARS: Final = 8
_MAX_VALUE_CHARS: Final = 200
_DISTINCT_OF_KEY: Final = 10
"""Different characters in a key of a service: one with fewer, such as `ghp_xxxx`, stands for another."""
_DISTINCT_OF_VALUE: Final = 5

_SERVICES: Final = {
    "AWS access key": r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    "GitHub token": r"\bgh[pousr]_[A-Za-z0-9]{36}|\bgithub_pat_[A-Za-z0-9_]{60}",
    "GitLab token": r"\bgl(?:pat|dt|rt|ptt|cbt|oas)-[A-Za-z0-9_-]{20}",
    "Slack token": r"\bxox[abeoprs]-[0-9A-Za-z-]{20}|hooks\.slack\.com/services/T\w+/B\w+/\w{16}",
    "Stripe key": r"\b[rs]k_live_[0-9A-Za-z]{20}|\bwhsec_[0-9A-Za-z]{32}",
    "Google key": r"\bAIza[0-9A-Za-z_-]{35}|\bGOCSPX-[0-9A-Za-z_-]{28}",
    "Anthropic key": r"\bsk-ant-[A-Za-z0-9_-]{24}",
    "OpenAI key": r"\bsk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{24}|\bsk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}",
    "PyPI token": r"\bpypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{50}",
    "npm token": r"\bnpm_[A-Za-z0-9]{36}",
    "JSON web token": r"\beyJ[A-Za-z0-9_-]{10,2000}\.eyJ[A-Za-z0-9_-]{10,4000}\.[A-Za-z0-9_-]{20}",
}
"""Keys and tokens of well-known services, as Python and Grep both read them."""
# Code that looks for such a line names it between two quotes.
_KEY_HEAD: Final = (
    r"(?:^\s*|[\"'`])-----BEGIN (?:[A-Z]+ )?PRIVATE KEY(?: BLOCK)?-----$"
    r"|-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----\\n[A-Za-z0-9+/]{16}"
)
_NAME: Final = r"[\w.-]{0,40}(?:pass|pwd|secret|token|key|credential|cookie|jwt|dsn|auth|bearer)[\w.-]{0,40}"  # see `names_secret_value`
_COARSE: Final = (
    r"akia|asia|gh[pousr]_|github_pat_|gl(pat|dt|rt|ptt|cbt|oas)-|xox[a-z]-|hooks\.slack|k_live_|whsec_|aiza|gocspx-|sk-[a-z0-9]"
    r"|pypi-ag|npm_|eyj|private key( block)?-----|://[^/ ]<+>@"
    r"|(pass|pwd|secret|token|key|credential|cookie|jwt|dsn|auth|bearer)[\w.-]<*>[\"']?\]?\s*[:=]"
)
COARSE_PATTERN: Final = _COARSE.replace("<+>", "+").replace("<*>", "*")
"""A pattern for Grep, upper or lower case, that every line with a secret matches; `find_secrets` judges such a line."""
# `re` needs quadratic time without the bounds, Grep needs many more states with them.
_ANY: Final = re.compile(_COARSE.replace("<+>", "{1,170}").replace("<*>", "{0,40}"), re.IGNORECASE)

_SERVICE: Final = {name: re.compile(pattern) for name, pattern in _SERVICES.items()}
_PRIVATE: Final = re.compile(_KEY_HEAD)
_URL: Final = re.compile(
    r"\b[a-z][a-z0-9+.-]{1,20}://(?P<user>[^\s:/@\"'<>]{0,60}):(?P<value>[^\s/@\"'<>]{3,100})@[\w.-]+"
)
_QUOTED: Final = re.compile(
    rf"(?<![\w.-])(?P<name>{_NAME})[\"']?\]?\s*(?::\s*[\w.]+\s*)?(?::=|=>|=|:)\s*[rbu]{{0,2}}"
    rf"(?P<quote>[\"'`])(?P<value>[^\"'`\n]{{{MIN_VALUE_CHARS},{_MAX_VALUE_CHARS}}})(?P=quote)",
    re.IGNORECASE,
)
_PLAIN: Final = re.compile(
    rf"(?<![\w.-])(?P<name>{_NAME})\s*[:=]\s*(?P<value>[^\s\"'`,;()\[\]<>{{}}]{{{MIN_VALUE_CHARS},{_MAX_VALUE_CHARS}}})"
    r"\s*(?:#.*)?$",
    re.IGNORECASE,
)
_PLACEHOLDER: Final = re.compile(
    r"example|sample|dummy|fake|placeholder|replace|change.?(?:me|this|it)|your|xxx|\*\*\*|\.\.\.|insert|redacted|todo"
    r"|foo|(?<![a-z])bar(?![a-z])|baz|lorem|test|mock|default|undefined|passw|secret|token|12345|abcde|asdf|qwert|deadbeef"
    r"|aaaa|0000|random|generate|somekey|some_|enter_"
)
_STAND_IN: Final = re.compile(
    r"example|xxxx|\.\.\.|your|fake|dummy|placeholder|0123456789|1234567890|abcdefgh", re.IGNORECASE
)
_NOT_A_VALUE: Final = re.compile(
    r"[$%{<@~/&#(\[]|\./|(?:env|vault|ssm|arn|op|file|sha\d+|md5|pbkdf2\w*|bcrypt|argon2\w*|scrypt)[:$-]"
)
_WORDS: Final = re.compile(r"[A-Za-z][A-Za-z_. -]*")
_DIGITS: Final = re.compile(r"[\d.:,_ -]+")
_CALL_OR_PATH: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+|.*\(.*|.*://.*|.*[\\/].*\.\w{1,5}")
_IDENTIFIER: Final = re.compile(r"[A-Za-z][\w.-]*")
_NAME_WORDS: Final = frozenset({
    *("auth", "basic", "bearer", "cookie", "credential", "credentials", "csrf", "digest", "id", "jwt", "key", "oauth", "oauth2", "pwd"),
})  # fmt: skip
_NOT_OF_VALUES: Final = re.compile(
    r"hash|digest|salt|checksum|finger|(?:^|_)(?:id|ids|name|names|field|url|uri|path|file|dir|header|headers|prefix|suffix"
    r"|pattern|regex|re|label|param|type|format|policy|length|len|min|max|env|var|help|message|msg|error|hint|prompt|text"
    r"|public|kind|scheme|class|method|style|status|endpoint|host)(?:$|_)"
)
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

FORM_NAMES: Final = (*_SERVICES, PRIVATE_KEY, CONNECTION, ASSIGNED)
"""The forms, in the order of the table."""


@final
@attrs.frozen
class FoundSecret:
    """A secret in a text: its form, and where it is, from `start` up to `end`."""

    form: str
    start: int
    end: int


def find_secrets(text: str, *, plain_values: bool = False, named_values: bool = True) -> Iterator[FoundSecret]:
    """Yield the secrets in a line.

    Args:
        text: One line; in several lines private keys are found only by their first one.
        plain_values: Whether `PASSWORD=value` without quotes counts, as in `.env` and YAML files.
        named_values: Whether values count because of the name before them, such as `password = "..."`.
    """
    for form, pattern in _SERVICE.items():
        for found in pattern.finditer(text):
            body = re.split(r"[_.-]", found[0].partition("//")[2] or found[0], maxsplit=1)[-1]
            if len(set(body)) >= _DISTINCT_OF_KEY and not _STAND_IN.search(found[0]):
                yield FoundSecret(form, *_whole(text, found))
    for found in _PRIVATE.finditer(text.rstrip()):
        yield FoundSecret(PRIVATE_KEY, *found.span())
    for found in _URL.finditer(text):
        value = found["value"]
        if value != found["user"] and not _NOT_A_VALUE.match(value) and not _is_word(value):
            yield FoundSecret(CONNECTION, *found.span("value"))
    for pattern in ((_QUOTED, _PLAIN) if plain_values else (_QUOTED,)) if named_values else ():
        for found in pattern.finditer(text):
            if is_secret_value(found["name"], found["value"]):
                yield FoundSecret(ASSIGNED, *found.span("value"))


def is_secret_value(name: str, value: str) -> bool:
    """Return True if the value that a name is given is a secret, and neither a placeholder nor the name of something."""
    snake = re.sub(r"[.-]", "_", _CAMEL.sub("_", name)).strip("_")
    if not names_secret_value(snake) or _NOT_OF_VALUES.search(snake.lower()):
        return False
    if not MIN_VALUE_CHARS <= len(value) <= _MAX_VALUE_CHARS or len(set(value)) < _DISTINCT_OF_VALUE:
        return False
    if not (value.isascii() and value.isprintable()) or " " in value:
        return False
    if _NOT_A_VALUE.match(value.lower()) or _CALL_OR_PATH.fullmatch(value) or _PLACEHOLDER.search(value.lower()):
        return False
    if _WORDS.fullmatch(value) or _DIGITS.fullmatch(value):
        return False
    words = re.split(r"[_.-]", value.lower())
    return not (_IDENTIFIER.fullmatch(value) and _NAME_WORDS & {*words})


def mask_forms(text: str) -> str:
    """Return a text with each character of the secrets that it shows by their form replaced by a star."""
    if not _ANY.search(text):
        return text
    lines = text.split("\n")
    is_private = False
    for at, line in enumerate(lines):
        if is_private:
            is_private = "-----END" not in line
            lines[at] = _KEY_LINE.sub(lambda found: "*" * len(found[0]), line)
        elif _ANY.search(line):
            lines[at] = _masked_line(line)
            is_private = _KEY_BEGINS.search(line) is not None
    return "\n".join(lines)


def _masked_line(line: str) -> str:
    for found in find_secrets(line, plain_values=True):
        if found.form == PRIVATE_KEY:
            line = _KEY_IN_LINE.sub(lambda body: "*" * len(body[0]), line)
        else:
            line = line[: found.start] + "*" * (found.end - found.start) + line[found.end :]
    return line


_KEY_BEGINS: Final = re.compile(r"-----BEGIN (?:[A-Z]+ )?PRIVATE KEY(?: BLOCK)?-----\s*$")
_KEY_LINE: Final = re.compile(r"[A-Za-z0-9+/=]{16,}")
_KEY_IN_LINE: Final = re.compile(r"(?<=KEY-----\\n).*?(?=-----END|$)")


def _whole(text: str, found: re.Match[str]) -> tuple[int, int]:
    """Return the span of a key, to the end of its characters: the form says only how it begins."""
    rest = _KEY_REST.match(text, found.end())
    return found.start(), rest.end() if rest else found.end()


_KEY_REST: Final = re.compile(r"[A-Za-z0-9_-]*")


def _is_word(value: str) -> bool:
    """Return True if the password of a connection string stands for another: a word, a placeholder."""
    return _PLACEHOLDER.search(value.lower()) is not None or (
        value.lower() in {"admin", "guest", "key", "pass", "postgres", "pwd", "pw", "root", "user"}
        or len(set(value)) < 4
    )
