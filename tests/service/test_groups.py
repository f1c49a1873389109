"""Which consumer groups were left behind."""

from typing import Any

from stream_ldp.kafka.settings import Settings
from stream_ldp.service.groups import groups_left_behind


class Groups:
    """A cluster with some groups, and a number of members of each."""

    def __init__(self, **members: int) -> None:
        self._members = {name.replace("__", "."): count for name, count in members.items()}

    async def groups(self) -> list[str]:
        return list(self._members)

    async def members(self, name: str) -> int:
        return self._members[name]


async def test_only_empty_groups_of_unknown_collections_under_the_own_prefix_were_left_behind() -> None:
    cluster: Any = Groups(
        p__old__released=0,
        p___ingest=0,
        p__old__merged=0,
        p__known__merged=0,
        p__running__merged=2,
        p__merge__12ab=0,
        another__old__merged=0,
    )
    found = await groups_left_behind(cluster, Settings.load(group="p"), {"known"})
    assert found == ["p.old.merged", "p.old.released"]
