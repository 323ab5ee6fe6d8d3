"""Who is measured beside ricordo, and who is not, with the reason."""

from bench.peers import chroma, graphiti, hindsight, lance, langgraph_store, mem_zero
from bench.peers.contract import Absent, Entry

PEERS: tuple[Entry, ...] = (
    chroma.ENTRY,
    lance.ENTRY,
    langgraph_store.ENTRY,
    mem_zero.ENTRY,
    graphiti.ENTRY,
    hindsight.ENTRY,
)

NOT_RUN: tuple[Absent, ...] = (
    Absent(
        "basic-memory",
        "needs Python 3.12 or newer, while everybody here runs on the Python of the bench, 3.11",
    ),
    Absent(
        "Letta",
        "the package of that name is a coding agent by now (0.34); of its last server (0.16.8) the"
        " archival memory could not be imported for want of a package that it does not require",
    ),
)
