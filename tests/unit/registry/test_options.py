"""What a registry is not started with."""

import pytest

from barnabas.registry.options import Problem, RegistryOptions
from barnabas.registry.server import run


def refused(options: RegistryOptions) -> str:
    with pytest.raises(Problem) as caught:
        run(options, print)
    return f"{caught.value.message}. {caught.value.way_out}"


def test_an_address_is_a_url() -> None:
    told = refused(RegistryOptions("127.0.0.1:9092", address="registry-1:8081"))
    assert "'registry-1:8081' is nothing that other instances can connect to. Write it as http://" in told


def test_a_host_of_another_machine() -> None:
    told = refused(RegistryOptions("127.0.0.1:9092", host="192.0.2.1", port=0))
    assert told.endswith("Choose another one: --host or --port")
