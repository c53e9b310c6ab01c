"""Random events of a class."""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

from greenroom.core import Cause, Event, field_names

TEXT: Final = st.text(max_size=20)

SIMPLE: Final[dict[Any, st.SearchStrategy[Any]]] = {
    str: TEXT,
    int: st.integers(-(2**63), 2**63 - 1),
    float: st.floats(allow_nan=False),
    bool: st.booleans(),
    type(None): st.none(),
    Cause: st.builds(Cause, who=TEXT, why=TEXT),
}


def values_of(hint: Any) -> st.SearchStrategy[Any]:
    if get_origin(hint) in {Union, types.UnionType}:
        return st.one_of(*map(values_of, get_args(hint)))
    if get_origin(hint) is tuple:
        return st.lists(values_of(get_args(hint)[0]), max_size=3).map(tuple)
    if get_origin(hint) is Mapping:  # JSON's values
        return st.dictionaries(TEXT, st.one_of(TEXT, st.booleans(), st.none(), st.lists(TEXT, max_size=2)), max_size=3)
    return SIMPLE[hint]


def events_of(event_class: type[Event]) -> st.SearchStrategy[Event]:
    hints = get_type_hints(event_class)
    return st.builds(event_class, **{name: values_of(hints[name]) for name in field_names(event_class)})
