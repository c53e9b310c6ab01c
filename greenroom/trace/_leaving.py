"""How what was raised leaves a block with a nursery in it: bare."""

from __future__ import annotations

import attrs


@attrs.define
class Held:
    """Holds back what the body raised until the nursery has closed, so that it leaves bare."""

    error: BaseException | None = None

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> bool:
        self.error = error
        return True


def bare_interrupt(error: BaseException) -> KeyboardInterrupt | SystemExit | None:
    """Return the KeyboardInterrupt or SystemExit in a group, if there is one: it leaves bare."""
    while isinstance(error, BaseExceptionGroup):
        group = error.subgroup((KeyboardInterrupt, SystemExit))
        if group is None:
            return None
        error = group.exceptions[0]
    return error if isinstance(error, KeyboardInterrupt | SystemExit) else None
