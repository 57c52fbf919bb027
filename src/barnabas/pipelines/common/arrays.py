"""The numpy arrays that records are taken apart and put together with, by what is in them."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Bytes: TypeAlias = npt.NDArray[np.uint8]
Words: TypeAlias = npt.NDArray[np.uint16]
Ints: TypeAlias = npt.NDArray[np.signedinteger]  # of 64 bits, where it is not a table
Mask: TypeAlias = npt.NDArray[np.bool_]
