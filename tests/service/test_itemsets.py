"""Itemsets on a real Kafka: a worker is killed within an epoch, and another answers as if nothing was."""

import signal
from pathlib import Path

import pytest

from stream_ldp.kafka.embedded import EmbeddedKafka
from stream_ldp.sets.item_sets import ItemSets
from tests.service.epochs import ItemDeployment, Users, next_epoch

BASKETS = """
collection: {name}
min_reports: 1
mechanism: {{kind: ldpminer, epsilon: 6, k: 4, set_size: ask}}
items: {{names: [bread, milk, eggs, tea, jam, rice, salt, soap]}}
itemsets: {{k: 4, sizes: [2, 3]}}
window: {{size: 30s, grace: 200ms, idle_timeout: 400ms}}
every: 300ms
"""
#: Half of the users hold the first three together.
SETS = ItemSets.of([[0, 1, 2], [0, 3], [0, 1, 2, 7], [4]] * 500)


@pytest.mark.long
@pytest.mark.kafka
async def test_itemsets_are_those_of_the_reports_after_a_worker_was_killed(
    tmp_path: Path, kafka: EmbeddedKafka, prefix: str
) -> None:
    served = await ItemDeployment.create(tmp_path, brokers=kafka.bootstrap, prefix=prefix, text=BASKETS)
    users, epoch = Users(deployment=served, sets=SETS, seed=3), next_epoch(served)
    phases = served.collection.schedule.phases
    assert phases == 5
    with served.worker() as worker:
        await worker.ready()
        for phase in (1, 2):
            asked = await served.round(epoch, phase)
            await users.answer(asked)
        # The sizes of sets are known: the next phase asks about all items.
        assert asked.candidates is None
        assert asked.padding in (2, 4)
        worker.signal(signal.SIGKILL)
        await worker.ended()
    with served.worker() as worker:
        await worker.ready()
        for phase in (3, 4, 5):
            await users.answer(await served.round(epoch, phase))
        first, last = await served.final(epoch, 1), await served.final(epoch, 5)
    assert first.about == "sizes"
    assert [each.of for each in first.sizes] == ["0 or 1", "2", "3 to 4", "5 to 8"]
    assert (last.target, last.complete) == ("itemsets", True)
    assert ("bread", "milk", "eggs") in [each.items for each in last.itemsets]
    await served.assert_published(epoch, reports=users.told)
