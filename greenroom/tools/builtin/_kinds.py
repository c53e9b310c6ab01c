"""File types that Grep knows by name, as ripgrep does: each a list of globs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

FILE_TYPES: Final[Mapping[str, str]] = {
    "c": "*.{c,h}",
    "cpp": "*.{cpp,cc,cxx,hpp,hh,hxx,h}",
    "cs": "*.cs",
    "css": "*.{css,scss,sass,less}",
    "go": "*.go",
    "html": "*.{html,htm}",
    "java": "*.java",
    "js": "*.{js,jsx,mjs,cjs,vue}",
    "json": "*.{json,jsonl}",
    "kotlin": "*.{kt,kts}",
    "lua": "*.lua",
    "make": "{Makefile,makefile,GNUmakefile,*.mk}",
    "md": "*.{md,markdown,mdx}",
    "php": "*.php",
    "py": "*.{py,pyi}",
    "rb": "*.{rb,rake}",
    "rst": "*.rst",
    "rust": "*.rs",
    "sh": "*.{sh,bash,zsh}",
    "sql": "*.sql",
    "swift": "*.swift",
    "toml": "*.toml",
    "ts": "*.{ts,tsx,mts,cts}",
    "txt": "*.txt",
    "xml": "*.xml",
    "yaml": "*.{yaml,yml}",
}
