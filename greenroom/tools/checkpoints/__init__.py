"""Files as they were when messages of the user's arrived, to go back to."""

from greenroom.tools.checkpoints._checkpoints import FileCheckpoints, FileRewind
from greenroom.tools.checkpoints._folder import FILES

__all__ = ["FILES", "FileCheckpoints", "FileRewind"]
