"""The tool TodoWrite: an agent's own list of what it is doing."""

from __future__ import annotations

from typing import Final

import attrs

from greenroom.tools import ToolContext, ToolError, tool
from greenroom.tools._workspace import Todo
from greenroom.tools.builtin._file_reader import on_one_line

MAX_TODOS: Final = 200
_MARKS: Final = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]"}


@tool(name="TodoWrite")
async def todo_write_tool(todos: list[Todo], *, ctx: ToolContext) -> str:
    """Replace the list of what is to be done in this piece of work.
    For work of three steps or more. One entry is in progress at a time; an entry is completed as soon as it is done.

    Args:
        todos: The whole list, in order.
    """
    if len(todos) > MAX_TODOS:
        raise ToolError(f"a list has at most {MAX_TODOS} entries, not {len(todos)}")
    for number, todo in enumerate(todos):
        if not todo.content.strip():
            raise ToolError(f"todos[{number}].content is empty: say what is to be done")
    running = [str(number) for number, todo in enumerate(todos) if todo.status == "in_progress"]
    if len(running) > 1:
        raise ToolError(f"one entry is in progress at a time, not those at {', '.join(running)}")
    before, ctx.workspace.todos = ctx.workspace.todos, tuple(todos)
    ctx.respond(lambda: {"oldTodos": [*map(attrs.asdict, before)], "newTodos": [*map(attrs.asdict, todos)]})
    if not todos:
        return "The list is empty"
    done = sum(todo.status == "completed" for todo in todos)
    lines = [f"{_MARKS[todo.status]} {on_one_line(todo.content)}" for todo in todos]
    return "\n".join([f"The list is noted: {done} of {len(todos)} completed", *lines])
