"""What the scripts in the cache of ``evaluate`` import, under one name in every release.

Environments with several releases share that cache, and each loads the newest script in it,
whichever of them wrote it. So this module stays here, wherever the classes are.
"""

from hf_plugin.modules import Q2 as Q2
from hf_plugin.modules import Scale as Scale
