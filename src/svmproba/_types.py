"""Types of arrays, named once for all packages."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]
Ints: TypeAlias = NDArray[np.intp]
Rows: TypeAlias = Any
"""A C-contiguous float64 array or a CSR array (SciPy's sparse arrays carry no types)."""
