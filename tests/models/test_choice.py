"""Which model an agent runs on: every example of the documents, and what holds for any names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.core import UsageError
from greenroom.models.choice import (
    DEFAULT_CLAUDE_MODEL,
    FAMILIES,
    ModelNames,
    choose_main_model,
    choose_model,
    family_of,
)
from greenroom.models.choice._model_choice import DEFAULT_ALIASES, ModelChoice, known_names
from greenroom.models.choice._model_names import CLAUDE_MODELS, newest

OPUS = "claude-opus-5"
SAID = st.none() | st.sampled_from(["", " ", "inherit", "Inherit", *FAMILIES, *CLAUDE_MODELS, "gpt-9", "mine"])
PARENTS = st.sampled_from([*CLAUDE_MODELS, "us.anthropic.claude-opus-4-5-20251101-v1:0", "scripted"])
NAMES = st.builds(
    ModelNames,
    aliases=st.dictionaries(st.sampled_from(["mine", "sonnet"]), st.sampled_from(CLAUDE_MODELS)),
    available=st.none() | st.lists(st.sampled_from([*FAMILIES, *CLAUDE_MODELS, "gpt-9"]), max_size=4).map(tuple),
)

# --- the chain -------------------------------------------------------------------------------------------------------


@given(parent=PARENTS, environment=SAID, call=SAID, definition=SAID, names=NAMES)
def test_the_first_that_says_something_decides(
    parent: str, environment: str | None, call: str | None, definition: str | None, names: ModelNames
) -> None:
    choice = choose_model(parent=parent, environment=environment, call=call, definition=definition, names=names)

    said = {"environment": environment, "call": call, "definition": definition}
    if environment is not None and environment.lower() == "inherit":
        del said["environment"]
    asked = [(source, word.strip()) for source, word in said.items() if word is not None and word.strip()]
    assert (choice.source, choice.asked) == (asked[0] if asked else ("parent", ""))


@given(parent=PARENTS, environment=SAID, call=SAID, definition=SAID, names=NAMES)
def test_the_choice_is_allowed_or_the_parents_and_tells_when_it_is_another(
    parent: str, environment: str | None, call: str | None, definition: str | None, names: ModelNames
) -> None:
    choice = choose_model(parent=parent, environment=environment, call=call, definition=definition, names=names)

    assert names.allows(choice.name) or choice.name == parent
    assert choice.name not in {"", "inherit"}
    if choice.note:
        assert repr(choice.asked) in choice.note
        assert repr(choice.name) in choice.note
        assert not names.allows(names.exact(choice.asked))


@given(parent=PARENTS, environment=SAID, call=SAID, definition=SAID, names=NAMES)
def test_a_fork_stays_on_its_parents_model(
    parent: str, environment: str | None, call: str | None, definition: str | None, names: ModelNames
) -> None:
    """A fork shares the parent's prefix, and a cached prefix belongs to one model."""
    choice = choose_model(
        parent=parent, environment=environment, call=call, definition=definition, names=names, is_fork=True
    )
    assert choice == ModelChoice(parent, "parent", "")


@given(parent=PARENTS, call=SAID, definition=SAID)
def test_a_coordinators_call_does_not_choose(parent: str, call: str | None, definition: str | None) -> None:
    choice = choose_model(parent=parent, call=call, definition=definition, is_coordinator=True)
    assert choice == choose_model(parent=parent, definition=definition)


@given(parent=st.sampled_from(CLAUDE_MODELS))
def test_an_alias_of_the_parents_family_is_the_parents_exact_model(parent: str) -> None:
    family = family_of(parent)
    assert choose_model(parent=parent, call=family).name == parent


@pytest.mark.parametrize(
    ("chain", "name", "source"),
    [
        ({}, OPUS, "parent"),
        ({"definition": "inherit"}, OPUS, "definition"),
        ({"definition": "haiku"}, "claude-haiku-5-5", "definition"),
        ({"call": "sonnet", "definition": "haiku"}, "claude-sonnet-5-5", "call"),
        ({"environment": "haiku", "call": "sonnet", "definition": "inherit"}, "claude-haiku-5-5", "environment"),
        ({"environment": "inherit", "call": "sonnet"}, "claude-sonnet-5-5", "call"),
        ({"environment": "inherit"}, OPUS, "parent"),
        ({"call": "inherit", "definition": "haiku"}, OPUS, "call"),
        ({"call": "opus"}, OPUS, "call"),
        ({"call": "claude-opus-5-5"}, "claude-opus-5-5", "call"),
        ({"call": "fable"}, "claude-fable-5-2", "call"),
        ({"call": "Sonnet"}, "claude-sonnet-5-5", "call"),
        ({"call": "somebody-elses-model"}, "somebody-elses-model", "call"),
    ],
)
def test_every_example_of_the_documents(chain: dict[str, str], name: str, source: str) -> None:
    choice = choose_model(parent=OPUS, **chain)  # type: ignore[arg-type]
    assert (choice.name, choice.source, choice.note) == (name, source, "")


# --- what is allowed -------------------------------------------------------------------------------------------------


def test_a_blocked_family_becomes_its_newest_allowed_version() -> None:
    names = ModelNames(available=("claude-sonnet-5", "claude-sonnet-4-5-20250929", "haiku"))
    choice = choose_model(parent=OPUS, call="sonnet", names=names)
    assert choice.name == "claude-sonnet-5"
    assert choice.note == "the model 'sonnet' is not allowed here; 'claude-sonnet-5' is used instead"


@pytest.mark.parametrize("asked", ["claude-sonnet-5-5", "fable", "gpt-9"])
def test_anything_else_that_is_blocked_becomes_the_parents_model(asked: str) -> None:
    choice = choose_model(parent=OPUS, call=asked, names=ModelNames(available=("claude-sonnet-5", "haiku")))
    assert choice.name == OPUS
    assert repr(asked) in choice.note
    assert repr(OPUS) in choice.note


def test_an_allowed_family_allows_all_of_its_models() -> None:
    names = ModelNames(available=("haiku",))
    assert choose_model(parent=OPUS, call="haiku", names=names).name == "claude-haiku-5-5"
    assert choose_model(parent=OPUS, call="claude-haiku-4-5", names=names).name == "claude-haiku-4-5"
    assert known_names(names) == ["haiku", "claude-haiku-5-5", "claude-haiku-4-5"]


def test_an_alias_of_our_own_goes_before_a_family_even_the_parents() -> None:
    names = ModelNames(aliases={"opus": "claude-opus-5-5", "mine": "claude-haiku-4-5"})
    assert choose_model(parent=OPUS, call="opus", names=names).name == "claude-opus-5-5"
    assert choose_model(parent=OPUS, call="mine", names=names).name == "claude-haiku-4-5"


# --- the main agent --------------------------------------------------------------------------------------------------


def test_the_main_model_is_the_argument_then_the_environment_then_the_settings_then_the_default() -> None:
    def chosen(
        argument: str | None = None, environment: str | None = None, settings: str | None = None
    ) -> tuple[str, str]:
        choice = choose_main_model(
            argument=argument, environment=environment, settings=settings, default=DEFAULT_CLAUDE_MODEL
        )
        return choice.name, choice.source

    assert chosen(argument="opus", environment="haiku", settings="fable") == ("claude-opus-5-5", "argument")
    assert chosen(environment="haiku", settings="fable") == ("claude-haiku-5-5", "environment")
    assert chosen(argument=" ", settings="fable") == ("claude-fable-5-2", "settings")
    assert chosen() == (DEFAULT_CLAUDE_MODEL, "default")


def test_the_main_model_has_to_be_allowed() -> None:
    names = ModelNames(available=("claude-sonnet-5",))
    assert choose_main_model(argument="sonnet", default=OPUS, names=names).name == "claude-sonnet-5"
    with pytest.raises(UsageError, match=r"'claude-opus-5' is not allowed.*'claude-sonnet-5'"):
        choose_main_model(default=OPUS, names=names)
    with pytest.raises(UsageError, match="no parent"):
        choose_main_model(argument="inherit", default=OPUS)


# --- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("claude-3-5-sonnet-20241022", "sonnet"),
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", "haiku"),
        ("Opus", "opus"),
        ("claude-instant", None),
        ("magnum-opusculum", None),
    ],
)
def test_a_family_is_a_word_of_the_name(name: str, family: str | None) -> None:
    assert family_of(name) == family


def test_the_newest_is_told_by_version_and_then_by_date() -> None:
    sonnets = [
        "claude-3-5-sonnet-20241022",
        "claude-3-7-sonnet-20250219",
        "claude-sonnet-4-20250514",
        "claude-sonnet-4-5-20250929",
        "claude-sonnet-4-5-20251111",
        "us.anthropic.claude-sonnet-4-5-20250101-v9:0",
        "claude-sonnet-10",
    ]
    for count in range(1, len(sonnets) + 1):
        expected = sonnets[min(count - 1, 4)] if count != len(sonnets) else sonnets[-1]
        assert newest(reversed(sonnets[:count]), "sonnet") == expected
    assert DEFAULT_ALIASES.keys() == set(FAMILIES)
