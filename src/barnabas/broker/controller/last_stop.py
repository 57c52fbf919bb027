"""How this broker stopped the last time: whether its logs may have lost what they had acknowledged."""

from typing import NamedTuple

from barnabas.storage.directory import DataDirectory


class LastStop(NamedTuple):
    in_order: bool  # cleanly, or killed while the machine stayed up: nothing that was written is lost
    broker_epoch: int  # of that time; -1: the controller is to take this broker for one that may have lost records


def last_stop(data: DataDirectory, boot_id: str) -> LastStop:
    """`boot_id` is another one after the machine has restarted; empty where it is not known."""
    boot_id_then, epoch_then = data.read_last_life()
    machine_stayed_up = boot_id != "" and boot_id_then == boot_id
    broker_epoch = data.clean_epoch if data.clean else epoch_then if machine_stayed_up else -1
    return LastStop(data.clean or machine_stayed_up, broker_epoch)
