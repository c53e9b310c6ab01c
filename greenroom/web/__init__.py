"""Pages for browsers: plain files without a build step, served by `greenroom.serving`."""

from greenroom.web._page_files import page_endpoints

__all__ = ["page_endpoints"]
