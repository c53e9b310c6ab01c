"""Pages for browsers: plain files without a build step, served by `greenroom.serving`."""

__all__: list[str] = []
