"""Groups on the page: whose a memory is, and who is in them."""

import pytest

from ricordo.memory import Memory
from tests.support.service import Service
from tests.web.visiting import Visit

pytestmark = pytest.mark.requirement("groups.roles")


def test_what_a_group_shares_is_named_as_its_own(site: Service) -> None:
    memory: Memory = site.memory
    memory.create_group("payments", title="The <b>payments</b> team", manager="ana")
    memory.set_member("payments", "ben", "read")
    item = memory.user("ana", group="payments").add("Refunds go through the ledger")
    ben = Visit(site).choose("ben")
    for path in ("/ui/memories", "/ui/memories?q=refunds"):
        assert "from group payments" in ben.text(path)
    said = ben.text(f"/ui/memories/{item.id}")
    assert "From group payments, of which ben is a member" in said
    assert "ana" not in said
    settings = ben.text("/ui/settings")
    assert (
        "payments (The <b>payments</b> team) ben may read. 2 members: ana (manage), ben (read)"
        in settings
    )
    dan = Visit(site).choose("dan")
    assert "payments" not in dan.text("/ui/memories") + dan.text("/ui/settings")
