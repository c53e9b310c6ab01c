"""All folds of the kernel."""

from __future__ import annotations

from typing import Final

from greenroom.views import _actors, _mailboxes, _supervisors

FOLDS: Final = (*_mailboxes.FOLDS, *_actors.FOLDS, *_supervisors.FOLDS)
"""`(section, event class, key field, function)`, as `greenroom.trace` reads them."""
