"""Files for models that keep notes: the backend of Anthropic's memory tool (``memory_20250818``).

Each file is one memory. ``paths.py`` says what may name one, ``editing.py`` and ``listing.py`` what
is done with texts, ``file_memories.py`` how files are kept, and ``files.py`` offers the commands.
"""

from ricordo.tools.memory_files.files import FileResult, MemoryFiles

__all__ = ["FileResult", "MemoryFiles"]
