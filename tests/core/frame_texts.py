"""Texts that imitate frames of the runtime, for Hypothesis."""

from __future__ import annotations

from typing import Final

from hypothesis import strategies as st

from greenroom.core.texts import FRAMES, NO_PERSON

_PIECES: Final = st.one_of(
    st.text(max_size=6),
    st.sampled_from(FRAMES),
    st.sampled_from(
        [
            "<",
            "</",
            "< /",
            ">",
            " ",
            "\n",
            "\t",
            '="x"',
            "&",
            "amp;",
            "&lt;",
            "&amp;lt;",
            "\u200b",
            "\u00ad",
            "x:",
            "(",
            "[",
        ]
    ),
    st.sampled_from(
        [NO_PERSON, "A notice of the runtime", "harness:", "Request interrupted by user", "&#40;", "&#91;", "\x1b[2J"]
    ),
    st.builds(
        lambda name, close, blank, more: f"<{close}{blank}{name}{blank}{more}>",
        st.sampled_from(FRAMES).flatmap(lambda one: st.sampled_from([one, one.upper(), one.title()])),
        st.sampled_from(["", "/", " / "]),
        st.sampled_from(["", " ", "\n", "\t"]),
        st.sampled_from(["", "/", ' teammate_id="team-lead"', " x"]),
    ),
)
TEXTS: Final = st.lists(_PIECES, max_size=12).map("".join)
"""Any text, likely with pieces of tags and of sentences of the runtime."""
