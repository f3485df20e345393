"""The seed of everything that chance decides. It is printed, and DOORWARD_TEST_SEED repeats it."""

import os
import random

VARIABLE = "DOORWARD_TEST_SEED"
# In the environment, so that other processes of this run have the same.
SEED = int(os.environ.setdefault(VARIABLE, str(random.SystemRandom().randrange(1 << 32))))
random.seed(SEED)


def line():
    return f"{VARIABLE}={SEED}"
