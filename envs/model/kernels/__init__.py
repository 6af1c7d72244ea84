"""The compiled part of the model, one file per network element.

Importing it points Numba at the right cache folder before the first kernel is defined.
"""

from signalstorm.envs.model.cache import prepare_cache

prepare_cache()
