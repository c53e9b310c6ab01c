"""Pages for browsers: plain files without a build step, served by `greenroom.serving`."""

from greenroom.web._opened_page import OpenedPage, open_page, open_page_ahead, show_page
from greenroom.web._run_file import write_run_file

__all__ = ["OpenedPage", "open_page", "open_page_ahead", "show_page", "write_run_file"]
