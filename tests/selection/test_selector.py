import warnings

import numpy as np
import pytest
from conftest_selection import cheapest, noisy
