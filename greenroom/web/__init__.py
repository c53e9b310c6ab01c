"""Pages for browsers: plain files without a build step, served by `greenroom.serving`."""

from greenroom.web._run_file import export_html
from greenroom.web._run_page import show_page

__all__ = ["export_html", "show_page"]
