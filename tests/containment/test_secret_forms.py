"""The forms of secrets: each is found and masked, and what only looks like one is not."""

from __future__ import annotations

import pytest

from greenroom.containment import FORM_NAMES, Secrets, find_secrets

_BODY = "a8Kd02mZqP5vXw7Tn3RbL1cYf6GhJ9sUeQ4o"
_LONG = _BODY * 2
# Put together here, so that a search of this repository for keys finds none.
SAMPLES = {
    "AWS access key": "AKIA" + "Z7Q2M4K9P1R8T6VX",
    "GitHub token": "ghp" + f"_{_BODY}",
    "GitLab token": "glpat" + f"-{_BODY[:20]}",
    "Slack token": "xoxb" + f"-2849201837-{_BODY[:14]}",
    "Stripe key": "sk_li" + f"ve_{_BODY[:24]}",
    "Google key": "AIz" + f"a{_BODY[:35]}",
    "Anthropic key": "sk-an" + f"t-api03-{_BODY[:30]}",
    "OpenAI key": "sk-pr" + f"oj-{_BODY[:30]}",
    "PyPI token": "pypi-AgEI" + f"cHlwaS5vcmc{_LONG[:60]}",
    "npm token": "npm" + f"_{_BODY}",
    "JSON web token": "eyJ" + f"hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.{_BODY}",
    "private key": "-----BEGIN RSA PRIV" + "ATE KEY-----",
    "connection string with a password": "postgres://shop:q8Kd02mZqP5v@db.internal/shop",
    "value of a password, token or key": 'password = "hunter2hunter2"',
}
NEAR_MISSES = [
    "ghp_" + "x" * 36,
    "AKIA" + "IOSFODNN7EXAMPLE",
    "http://user:pass@10.10.1.10:1080",
    "postgres://postgres:postgres@localhost/shop",
    "https://user:%s@host/",
    'password = "changeme123"',
    'password = "<your password 1>"',
    'password = "${DB_PASSWORD_1}"',
    'password = os.environ["DB_PASSWORD_2"]',
    'password_hash = "5f4dcc3b5aa765d61d8327deb882cf99"',
    'PASSWORD_FIELD = "password_2b"',
    'token = "access_token_2"',
    'token_url = "https://shop.internal/t9"',
    'auth = "digest-md5-2"',
    'secret = "sha256:9f86d081884c7d659a2f"',
    'public_key = "9f86d081884c7d65x9aQ"',
    'tokenizer = "utf8-mb4-2"',
]


def test_every_form_has_a_sample() -> None:
    assert tuple(SAMPLES) == FORM_NAMES


@pytest.mark.promise("SV-1")
@pytest.mark.parametrize("form", FORM_NAMES)
def test_secret_of_each_form_is_found_and_named(form: str) -> None:
    assert [found.form for found in find_secrets(SAMPLES[form])] == [form]


@pytest.mark.promise("SV-1")
@pytest.mark.parametrize("line", NEAR_MISSES)
def test_placeholders_hashes_and_names_are_not_secrets(line: str) -> None:
    assert list(find_secrets(line, plain_values=True)) == []


@pytest.mark.promise("SV-2")
@pytest.mark.parametrize("form", [form for form in FORM_NAMES if form != "private key"])
def test_secret_is_masked_by_its_form_and_keeps_its_length(form: str) -> None:
    line = f"   12\tVALUE {SAMPLES[form]} # kept"

    masked = Secrets(has_forms=True).mask(f"before\n{line}\nafter")

    assert len(masked) == len(f"before\n{line}\nafter")
    assert masked.startswith("before\n   12\t")
    assert masked.endswith(" # kept\nafter")
    (found,) = find_secrets(SAMPLES[form])
    assert SAMPLES[form][found.start : found.end] not in masked


@pytest.mark.promise("SV-2")
def test_body_of_a_private_key_is_masked_up_to_its_end() -> None:
    head, end = SAMPLES["private key"], SAMPLES["private key"].replace("BEGIN", "END")
    text = f"1\t{head}\n2\t{_LONG}\n3\t{_BODY}\n4\t{end}\n5\t{_BODY}"

    masked = Secrets(has_forms=True).mask(text)

    assert masked == f"1\t{head}\n2\t{'*' * len(_LONG)}\n3\t{'*' * len(_BODY)}\n4\t{end}\n5\t{_BODY}"


@pytest.mark.promise("SV-2")
@pytest.mark.parametrize("end", ["\r\n", "\n"])
@pytest.mark.parametrize("kind", ["RSA PRIVATE KEY", "PRIVATE KEY", "PGP PRIVATE KEY BLOCK"])
def test_body_of_a_private_key_is_masked_whatever_ends_its_lines(kind: str, end: str) -> None:
    text = f"-----BEGIN {kind}-----{end}{_LONG}{end}-----END {kind}-----{end}{_BODY}"

    assert Secrets(has_forms=True).mask(text) == text.replace(_LONG, "*" * len(_LONG))


@pytest.mark.promise("SV-1")
@pytest.mark.parametrize("before", ["    ", 'KEY = """', "\t"])
def test_private_key_within_a_file_of_another_kind_is_found(before: str) -> None:
    assert [found.form for found in find_secrets(before + SAMPLES["private key"])] == ["private key"]


def test_code_that_looks_for_private_keys_holds_none() -> None:
    assert list(find_secrets(f'if line == "{SAMPLES["private key"]}":')) == []


@pytest.mark.promise("SV-2")
@pytest.mark.parametrize(
    "line", ["DB_PASSWORD=hunter2hunter2", "password: hunter2hunter2", 'password\t= "hunter2hunter2"']
)
def test_values_of_settings_are_masked_with_and_without_quotes(line: str) -> None:
    assert Secrets(has_forms=True).mask(line) == line.replace("hunter2hunter2", "*" * 14)


@pytest.mark.parametrize("line", NEAR_MISSES)
def test_text_that_is_not_secret_is_left_as_it_is(line: str) -> None:
    assert Secrets(has_forms=True).mask(line) == line


@pytest.mark.parametrize("again", ["a", "password", "pass.", "gl", "-eyJ", "://:", "key "])
def test_a_long_line_without_secrets_is_searched_in_linear_steps(again: str) -> None:
    """In quadratic ones each of these takes minutes."""
    line = "password" + again * (200_000 // len(again))

    assert list(find_secrets(line)) == []
    assert Secrets(has_forms=True).mask(line) == line
