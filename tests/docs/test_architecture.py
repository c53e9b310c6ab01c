"""The walks of the architecture page are those of the code."""

from __future__ import annotations

from tests.docs.architecture import ITEM, PAGE, arrows, exists, insert, item_walk, message_walk, prompt_walk

TEXT = PAGE.read_text(encoding="utf-8")


def test_page_is_that_of_the_code() -> None:
    assert insert(TEXT) == TEXT, "run `python -m tests.docs`"


def test_message_takes_few_calls() -> None:
    names = [name.rpartition(".")[2] for _, name in message_walk()]

    assert len(names) <= 10  # to become 8: lanes and parking spots cost a call each
    assert (names[0], names[-1]) == ("tell", "ack")
    assert names.index("take") < names.index("on_message") < names.index("commit")


def test_prompt_takes_few_hops() -> None:
    to_agent, to_model = prompt_walk()

    assert len(to_agent) + len(to_model) <= 14


def test_stack_enters_each_module_once() -> None:
    for stack in prompt_walk():
        places = [module for number, (module, _) in enumerate(stack) if number == 0 or stack[number - 1][0] != module]

        assert len(places) == len(set(places))


def test_functions_of_an_item_are_called_in_order() -> None:
    called = iter(f"{module}:{name}" for module, name in item_walk())

    missing = [name for name, _ in ITEM if not any(each.partition(".<locals>")[0] == name for each in called)]

    assert missing == []
    assert all(exists(name) for name, _ in ITEM)


def test_page_names_every_folder() -> None:
    assert [folder for folder in arrows() if folder != "containment" and f"`{folder}`" not in TEXT] == []
