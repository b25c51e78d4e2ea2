"""One file per terrain kind; each registers its own. A new kind is a new file here and nothing else."""

from importlib import import_module
from pkgutil import iter_modules

for _found in iter_modules(__path__):
    import_module(f"{__name__}.{_found.name}")
