"""Pages for browsers: plain files without a build step, served by `greenroom.serving`."""

from greenroom.web._run_file import write_run_file
from greenroom.web._run_page import show_page

__all__ = ["show_page", "write_run_file"]
