"""Random conversations: sound ones, and ones that were damaged."""

from __future__ import annotations

from hypothesis import strategies as st

from greenroom.models import Message, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock


@st.composite
def sound_conversations(draw: st.DrawFn) -> list[Message]:
    """Draw a conversation as an agent has it: whole rounds, each call answered."""
    messages = [Message.user("Go.")]
    for number in range(draw(st.integers(0, 5))):
        calls = [ToolUseBlock(f"{number}-{each_number}", "Look", {}) for each_number in range(draw(st.integers(0, 3)))]
        said = (TextBlock("So."),) if not calls or draw(st.booleans()) else ()
        thought = (ThinkingBlock("hm", "signed"),) if draw(st.booleans()) else ()
        messages.append(Message("assistant", (*thought, *said, *calls)))
        results = [ToolResultBlock(call.id, "seen") for call in draw(st.permutations(calls))]
        note = (TextBlock("By the way."),) if not calls or draw(st.booleans()) else ()
        messages.append(Message("user", (*results, *note)))
    if draw(st.booleans()):
        messages.append(Message("assistant", (TextBlock("Done."),)))
    return messages


@st.composite
def damaged_conversations(draw: st.DrawFn) -> list[Message]:
    """Draw a sound conversation of which messages and blocks were lost, doubled or moved."""
    messages = draw(sound_conversations())
    for _ in range(draw(st.integers(1, 4))):
        if not messages:
            break
        place = draw(st.integers(0, len(messages) - 1))
        match draw(st.sampled_from(["lose", "double", "move", "lose block", "empty", "cut"])):
            case "lose":
                del messages[place]
            case "double":
                messages.insert(place, messages[place])
            case "move":
                messages.insert(draw(st.integers(0, len(messages) - 1)), messages.pop(place))
            case "lose block":
                messages[place] = Message(messages[place].role, messages[place].content[1:])
            case "empty":
                messages[place] = Message(messages[place].role, ())
            case _:
                messages = messages[:place]
    return messages
