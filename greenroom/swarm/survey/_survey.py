"""The data of the report: the listing, and the facts that teammates sent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs

from greenroom.swarm.survey._facts import Facts, FileFacts, Hit, SearchFacts, TextFacts, TreeFacts
from greenroom.swarm.survey._listing import Listing


@attrs.frozen
class Survey:
    """All that is known when the report is written."""

    folder: str
    listing: Listing
    files: Mapping[str, FileFacts]
    """The Python files, by path."""
    texts: Mapping[str, TextFacts]
    """The documents, by path."""
    searches: Mapping[str, SearchFacts]
    tree: TreeFacts
    left: tuple[str, ...]
    """Numbers of the items without findings."""

    @classmethod
    def gather(cls, folder: str, listing: Listing, facts: Iterable[Facts], left: tuple[str, ...]) -> Survey:
        """Sort the facts by what they are about."""
        files: dict[str, FileFacts] = {}
        texts: dict[str, TextFacts] = {}
        searches: dict[str, SearchFacts] = {}
        tree = TreeFacts()
        for fact in facts:
            match fact:
                case FileFacts(path=path):
                    files[path] = fact
                case TextFacts(path=path):
                    texts[path] = fact
                case SearchFacts(label=label):
                    searches[label] = fact
                case TreeFacts():
                    tree = fact
        return cls(folder, listing, dict(sorted(files.items())), dict(sorted(texts.items())), searches, tree, left)

    def hits(self, label: str) -> tuple[Hit, ...]:
        """Return what a search found; nothing where it was not made."""
        facts = self.searches.get(label)
        return facts.hits if facts else ()
