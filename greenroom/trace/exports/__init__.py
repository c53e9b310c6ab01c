"""Runs as files of other tools: Perfetto, Chrome trace events, OpenTelemetry; and the words that an export holds."""

from greenroom._lazy_names import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
    from greenroom.trace.exports._entry_source import Sink, source_of
    from greenroom.trace.exports._export_chrome import export_chrome
    from greenroom.trace.exports._export_otlp import export_otlp
    from greenroom.trace.exports._export_perfetto import export_perfetto
    from greenroom.trace.exports._redaction import Content, Redaction
else:
    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "greenroom.trace.exports._entry_source": ("Sink", "source_of"),
            "greenroom.trace.exports._export_chrome": ("export_chrome",),
            "greenroom.trace.exports._export_otlp": ("export_otlp",),
            "greenroom.trace.exports._export_perfetto": ("export_perfetto",),
            "greenroom.trace.exports._redaction": ("Content", "Redaction"),
        },
    )

__all__ = [
    "Content",
    "Redaction",
    "Sink",
    "export_chrome",
    "export_otlp",
    "export_perfetto",
    "source_of",
]
