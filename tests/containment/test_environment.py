"""The environment of programs."""

from __future__ import annotations

import subprocess

import pytest

from greenroom.containment import ChildKind, child_environment
from greenroom.containment._environment import GIT_PLACES, holds_secret
from tests.worktrees.repositories import NEEDS_GIT

SECRETS = (
    *("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_CUSTOM_HEADERS", "OPENAI_API_KEY", "GEMINI_API_KEY"),
    *("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK", "AWS_PROFILE"),
    *("GOOGLE_APPLICATION_CREDENTIALS", "VERTEX_CREDENTIALS", "AZURE_CLIENT_SECRET", "AZURE_OPENAI_API_KEY"),
    *("GITHUB_TOKEN", "GH_TOKEN", "GITLAB_PAT", "NPM_TOKEN", "PYPI_TOKEN_2", "SLACK_WEBHOOK_URL", "HF_TOKEN"),
    *("DB_PASSWORD", "PGPASSWORD", "MYSQL_PWD", "DATABASE_URL", "SENTRY_DSN", "REDIS_PASS", "JWT_SECRET"),
    *("STRIPE_SECRET_KEY", "SSH_PRIVATE_KEY", "SIGNING_KEY_BASE64", "my_api_key", "APIKEY", "SESSION_COOKIE"),
)
PLAIN = (
    *("PATH", "HOME", "PWD", "OLDPWD", "LANG", "LC_ALL", "TERM", "SHELL", "EDITOR", "VIRTUAL_ENV", "PYTHONPATH"),
    *("AWS_REGION", "AWS_DEFAULT_REGION", "ANTHROPIC_BASE_URL", "GOOGLE_CLOUD_PROJECT", "SSH_AUTH_SOCK", "MONKEY"),
    *("KEYBOARD", "TOKENIZERS_PARALLELISM", "CARGO_HOME", "NODE_ENV", "CI", "DISPLAY", "PASSAGE", "AUTHOR", "COMPASS"),
)


@pytest.mark.parametrize("name", SECRETS)
def test_a_name_of_a_secret_is_known(name: str) -> None:
    assert holds_secret(name)


@pytest.mark.parametrize("name", PLAIN)
def test_a_plain_name_is_passed_to_commands(name: str) -> None:
    assert not holds_secret(name)
    assert child_environment(ChildKind.COMMAND, {name: "x"}) == {name: "x"}


def test_a_secret_reaches_a_program_only_if_it_is_named() -> None:
    environ = dict.fromkeys((*SECRETS, *PLAIN), "x")

    for kind in ChildKind:
        assert set(SECRETS) & set(child_environment(kind, environ)) == set()
        passed = child_environment(kind, environ, passed=["AWS_*", "GH_TOKEN"], named={"OPENAI_API_KEY": "y"})
        assert set(SECRETS) & set(passed) == {name for name in SECRETS if name.startswith("AWS_")} | {
            "GH_TOKEN",
            "OPENAI_API_KEY",
        }
        assert passed["OPENAI_API_KEY"] == "y"


def test_a_server_gets_a_small_set_and_what_is_named() -> None:
    environ = dict.fromkeys((*SECRETS, *PLAIN, "HTTPS_PROXY", "MY_SETTING"), "x")

    got = child_environment(ChildKind.SERVER, environ, named={"WANTED": "y"})

    assert set(got) == {"PATH", "HOME", "LANG", "LC_ALL", "TERM", "SHELL", "HTTPS_PROXY", "WANTED"}


@NEEDS_GIT
def test_variables_that_lead_git_elsewhere_are_those_that_git_names() -> None:
    done = subprocess.run(["git", "rev-parse", "--local-env-vars"], capture_output=True, text=True, check=True)

    assert set(done.stdout.split()) - GIT_PLACES == set()


def test_variables_that_lead_git_elsewhere_reach_commands_only_if_named() -> None:
    environ = {**dict.fromkeys(GIT_PLACES, "x"), "GIT_AUTHOR_NAME": "ann", "GIT_SSH_COMMAND": "ssh -i key"}

    assert child_environment(ChildKind.COMMAND, environ) == {
        "GIT_AUTHOR_NAME": "ann",
        "GIT_SSH_COMMAND": "ssh -i key",
    }
    assert child_environment(ChildKind.COMMAND, environ, passed=["GIT_DIR"], named={"GIT_WORK_TREE": "y"}) == {
        "GIT_AUTHOR_NAME": "ann",
        "GIT_DIR": "x",
        "GIT_SSH_COMMAND": "ssh -i key",
        "GIT_WORK_TREE": "y",
    }
