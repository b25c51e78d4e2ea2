"""Puts the policies of `pretrained` into the package when it is built."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class WithPolicies(build_py):
    def run(self) -> None:
        super().run()
        if self.editable_mode:  # a checkout has them already
            return
        for run in sorted(Path("pretrained").iterdir()):
            if run.name.endswith(("-next", "-probe")):  # still learning, or to try things on
                continue
            for name in ("config.json", "small.safetensors", "steering.json"):
                if (run / name).is_file():
                    target = Path(self.build_lib) / "ssr" / "policies" / run.name / name
                    target.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(run / name, target)


setup(cmdclass={"build_py": WithPolicies})
