"""What the server of `forked` prepares once for all commands: what each would work out anew, and a frozen heap.

A collection of a command's would go through the server's heap and copy each page of it.
"""

import gc

from greenroom.cli._app import _make_app
from greenroom.models._anthropic_client import tls_context
from greenroom.session._catalog import EVENTS
from greenroom.session.settings._session_settings import load_settings
from greenroom.trace._codec import codec_of
from tests.cli.parsing import read_annotations_once

read_annotations_once()
_make_app().parse_args(["run", "Hi."])
tls_context()
codec_of(tuple(EVENTS))
load_settings(None)
gc.collect()
gc.freeze()
