"""S4 for transactions: what was decided is on disk before anybody hears of it, markers included.

Looked at after every start: no partition may know a younger epoch of a producer than its coordinator does.
"""

from collections.abc import Iterator

from barnabas.broker.node import Node


def check(node: Node) -> Iterator[str]:
    known = {
        transaction.producer_id: transaction
        for hosted in node.transactions.every()
        for transaction in hosted.machine._world.transactions.values()
    }
    for partition in node.partitions.open_ones():
        for entry in partition.producers.entries():
            transaction = known.get(entry.producer_id)
            if transaction is not None and entry.producer_epoch > max(
                transaction.producer_epoch + transaction.state.is_prepared, transaction.next_producer_epoch
            ):
                yield (
                    f"S4 {tuple(partition.id)}: epoch {entry.producer_epoch} of {transaction.transactional_id}, "
                    f"whose coordinator knows {transaction.producer_epoch} ({transaction.state.name})"
                )
