"""CRC-32C, by the extension module of the package `crc32c`.

The package itself imports its command line and looks up its own version when it is imported: argparse, email, zipfile
and thirty more modules, 15 ms and 2 MB that a node does not need. So its extension is loaded without it.
"""

from collections.abc import Callable
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from types import ModuleType

Checksum = Callable[..., int]


def _extension() -> ModuleType:
    package = PathFinder.find_spec("crc32c")
    places = None if package is None else package.submodule_search_locations
    spec = None if places is None else PathFinder.find_spec("_crc32c", list(places))
    if spec is None or spec.loader is None:  # another layout of the package, or none
        import crc32c as module

        return module
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


crc32c: Checksum = _extension().crc32c
