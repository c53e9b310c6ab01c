"""All mutants."""

from __future__ import annotations

from typing import Final

from tools.mutants.catalogue import MUTANTS as KERNEL
from tools.mutants.delivery import DELIVERY
from tools.mutants.gateway import GATEWAY
from tools.mutants.serving import SERVING

MUTANTS: Final = (*KERNEL, *DELIVERY, *SERVING, *GATEWAY)
