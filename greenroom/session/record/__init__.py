"""Records of runs: resuming, recovery after a crash, sweeping, setting files back."""

__all__: list[str] = []
