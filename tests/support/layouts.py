"""Layouts of projects: each gives the same wheel from the tree and from its sdist, or is refused with the fix."""

from __future__ import annotations

from typing import NamedTuple

KERNEL = 'extern "C" __global__ void scale(float* y) { y[threadIdx.x] *= 2; }\n'
MANIFEST = "{schema: 1, arches: [sm_90], modules: {scale: {source: scale.cu}}}\n"
HERE = {"kernels.yaml": MANIFEST, "scale.cu": KERNEL}
IN_SRC = {f"src/mylib/{name}": text for name, text in HERE.items()}
WHEEL = "[tool.hatch.build.targets.wheel]\n"
SDIST = "[tool.hatch.build.targets.sdist]\n"
BUILD = "[tool.hatch.build]\n"
FORCE = "[tool.hatch.build.targets.wheel.force-include]\n"
#: A build hook that makes a package, as generators of code do.
GENERATOR = """\
from pathlib import Path
from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Generator(BuildHookInterface):
    def initialize(self, version, build_data):
        if self.target_name == "wheel":
            made = Path(self.root, "made")
            made.mkdir(exist_ok=True)
            for name in ("__init__.py", "code.py"):
                (made / name).touch()
"""
CUSTOM = "[tool.hatch.build.hooks.custom]\n"


class Link(NamedTuple):
    """A symbolic link."""

    target: str


class Layout(NamedTuple):
    """A project, and what has to come of it."""

    files: dict[str, str | Link]
    """By their path from the project's folder, which is one of several in a repository."""
    settings: str = ""
    """Tables of pyproject.toml before that of the hook."""
    hook: str = ""
    """The hook's options, and what comes behind them."""
    name: str = "mylib"
    package: str = "mylib"
    """What is imported."""
    wheel: str = ""
    """Why no wheel can be built, as a pattern; empty if one can."""
    sdist: str | None = None
    """Why no sdist can; the same as for wheels unless it is stated."""
    editable: str | None = None
    """Why no editable install can; the same as for wheels unless it is stated."""
    mended: dict[str, object] | None = None
    """What of this layout the advice changes."""


def py(*names, **more):
    """Return files of Python that do nothing."""
    return dict.fromkeys(names, "") | more


LAYOUTS = {
    "flat": Layout(HERE | py("mylib/__init__.py")),
    "src": Layout(HERE | py("src/mylib/__init__.py")),
    "kernels in the package": Layout(IN_SRC | py("src/mylib/__init__.py"), hook='manifest = "src/mylib/kernels.yaml"'),
    "a dash in the name": Layout(HERE | py("src/my_lib/__init__.py"), name="my-lib", package="my_lib"),
    "capital letters": Layout(HERE | py("MyLib/__init__.py"), name="MyLib", package="MyLib"),
    "namespace": Layout(HERE | py("acme/mylib/__init__.py"), package="acme.mylib"),
    "namespace in src": Layout(
        HERE | py("src/acme/cloud/mylib/__init__.py"), WHEEL + 'packages = ["src/acme"]', name="acme-cloud-mylib",
        package="acme.cloud.mylib",
    ),
    "namespace of two projects": Layout(
        HERE | py("src/acme/mylib/__init__.py", "src/acme/other/__init__.py"), WHEEL + 'packages = ["src/acme"]',
        package="acme.mylib",
    ),
    "package without __init__.py, listed": Layout(HERE | py("src/mylib/code.py"), WHEEL + 'packages = ["src/mylib"]'),
    "package in the package": Layout(
        HERE | py("src/mylib/__init__.py", "src/mylib/gpu/__init__.py"), hook='package = "mylib.gpu"',
        package="mylib.gpu",
    ),
    "another name, listed": Layout(
        HERE | py("kubekern/__init__.py"), WHEEL + 'packages = ["kubekern"]', name="acme-kubekern", package="kubekern"
    ),
    "one of two": Layout(
        HERE | py("a/__init__.py", "b/__init__.py"), WHEEL + 'packages = ["a", "b"]', 'package = "b"', package="b"
    ),
    "another folder": Layout(HERE | py("python/mylib/__init__.py"), WHEEL + 'packages = ["python/mylib"]'),
    "sources of wheels": Layout(
        IN_SRC | py("src/mylib/__init__.py"), WHEEL + 'sources = ["src"]\nonly-include = ["src/mylib"]',
        'manifest = "src/mylib/kernels.yaml"',
    ),
    "sources of all, and kernels elsewhere": Layout(HERE | py("src/mylib/__init__.py"), BUILD + 'sources = ["src"]'),
    "sources that rename": Layout(
        HERE | py("lib/core/__init__.py"), WHEEL + 'only-include = ["lib/core"]\nsources = {"lib/core" = "mylib"}',
        editable="Dev mode installations are unsupported",
    ),
    "sources that prefix": Layout(
        HERE | py("core/__init__.py"), WHEEL + 'packages = ["core"]\nsources = {"" = "mylib"}', package="mylib.core",
        name="mylib-core", editable="Dev mode installations are unsupported",
    ),
    "two folders that become one": Layout(
        HERE | py("one/mylib/__init__.py", "two/mylib/code.py"),
        WHEEL + 'only-include = ["one", "two"]\nsources = ["one", "two"]',
        editable="imports mylib from one of one/mylib, two/mylib, .* `dev-mode-dirs`",
        mended={"settings": BUILD + 'dev-mode-dirs = ["one", "two"]\n' + WHEEL + 'only-include = ["one", "two"]\n'
                'sources = ["one", "two"]'},
    ),
    "include": Layout(HERE | py("lib/mylib/__init__.py"), WHEEL + 'include = ["lib/**/*.py"]\nsources = ["lib"]'),
    "only-include": Layout(HERE | py("mylib/__init__.py", "x.py"), WHEEL + 'only-include = ["mylib"]'),
    "only-include of sdists": Layout(HERE | py("mylib/__init__.py"), SDIST + 'only-include = ["mylib"]'),
    "only-packages": Layout(HERE | py("mylib/__init__.py"), WHEEL + "only-packages = true"),
    "exclude of something": Layout(
        HERE | py("mylib/__init__.py", "mylib/tests/__init__.py"), BUILD + 'exclude = ["tests"]'
    ),
    "force-include": Layout(HERE | py("python/code/__init__.py"), FORCE + '"python/code" = "mylib"'),
    "force-include of a file": Layout(
        HERE | py("mylib/__init__.py", "more/code.py"), FORCE + '"more/code.py" = "mylib/code.py"'
    ),
    "force-include of __init__.py": Layout(
        HERE | py("mylib/code.py", "more/init.py"),
        WHEEL + 'packages = ["mylib"]\n' + FORCE + '"more/init.py" = "mylib/__init__.py"',
    ),
    "force-include and bypass-selection": Layout(
        HERE | py("python/code/__init__.py"), WHEEL + "bypass-selection = true\n" + FORCE + '"python/code" = "mylib"'
    ),
    "dev-mode-dirs": Layout(HERE | py("src/mylib/__init__.py"), BUILD + 'dev-mode-dirs = ["src"]'),
    "dev-mode-exact": Layout(HERE | py("src/mylib/__init__.py"), BUILD + "dev-mode-exact = true"),
    "artifacts": Layout(
        HERE | {".gitignore": "mylib/\n"} | py("mylib/__init__.py"), BUILD + 'artifacts = ["mylib/*.py"]'
    ),
    "a file that another hook makes": Layout(
        HERE | {"hatch_build.py": GENERATOR} | py("mylib/__init__.py"),
        CUSTOM + FORCE + '"made/code.py" = "mylib/code.py"',
    ),
    "a package that another hook makes": Layout(
        HERE | {"hatch_build.py": GENERATOR}, CUSTOM + FORCE + '"made" = "mylib"'
    ),
    "monorepo": Layout(HERE | {"../.gitignore": "*.log\nbuild/\n", "../other/x.py": ""} | py("src/mylib/__init__.py")),
    "linked folder of another project": Layout(
        HERE | {"mylib": Link("../shared/mylib"), "../shared/mylib/__init__.py": ""}
    ),
    "linked sources": Layout(
        {
            "kernels.yaml": MANIFEST.replace("scale.cu", "a/scale.cu}, other: {source: b/scale.cu"),
            "a/scale.cu": Link("../common/a.cu"), "common/a.cu": f'#include "h.cuh"\n{KERNEL}', "h.cuh": "",
            "a/h.cuh": Link("../h.cuh"),
            "b/scale.cu": Link("../common/b.cu"), "common/b.cu": KERNEL.replace("scale", "other"),
        }
        | py("mylib/__init__.py"),
        SDIST + 'only-include = ["mylib"]',
    ),
    "linked sources of another project": Layout(
        {"kernels.yaml": MANIFEST, "scale.cu": Link("../shared/scale.cu"), "../shared/scale.cu": KERNEL}
        | py("mylib/__init__.py"),
        wheel="'scale.cu' leaves the project through a symbolic link; copy the file into it",
        mended={"files": HERE | py("mylib/__init__.py")},
    ),
    "another name": Layout(
        HERE | py("kubekern/__init__.py"), "", 'package = "kubekern"', "acme-kubekern", "kubekern",
        wheel=r'is called like the project, acme_kubekern, .*For kubekern, write:\s+\[tool\.hatch\.build\.targets\.'
        r'wheel\]\npackages = \["kubekern"\]',
        mended={"settings": WHEEL + 'packages = ["kubekern"]'},
    ),
    "another name in src": Layout(
        HERE | py("src/foo/__init__.py"), "", 'package = "foo"', package="foo",
        wheel=r'For foo, write:\s+\[tool\.hatch\.build\.targets\.wheel\]\npackages = \["src/foo"\]',
        mended={"settings": WHEEL + 'packages = ["src/foo"]'},
    ),
    "package without __init__.py": Layout(
        HERE | py("mylib/code.py"), wheel=r'and has an __init__\.py.*packages = \["mylib"\]',
        mended={"settings": WHEEL + 'packages = ["mylib"]'},
    ),
    "package without __init__.py in src": Layout(
        HERE | py("src/mylib/code.py"), wheel=r'and has an __init__\.py.*packages = \["src/mylib"\]',
        mended={"settings": WHEEL + 'packages = ["src/mylib"]'},
    ),
    "a module": Layout(
        HERE | py("mylib.py"), wheel="mylib.py is a module, .* make it mylib/__init__.py",
        mended={"files": HERE | py("mylib/__init__.py")},
    ),
    "no package": Layout(
        HERE, WHEEL + 'include = ["*.cu"]', wheel="no Python package, .* make mylib/__init__.py",
        mended={"files": HERE | py("mylib/__init__.py"), "settings": ""},
    ),
    "packages that are not there": Layout(
        HERE | py("acme/mylib/__init__.py"), WHEEL + 'packages = ["acme.mylib"]', name="x", package="mylib",
        wheel=r"there is no acme\.mylib, which `packages` in \[.*\.wheel\] names; write acme/mylib",
        mended={"settings": WHEEL + 'packages = ["acme/mylib"]'},
    ),
    "not among packages": Layout(
        HERE | py("src/a/__init__.py", "src/mylib/__init__.py"), WHEEL + 'packages = ["src/a"]',
        hook='package = "mylib"', wheel=r'no module of src/mylib: write packages = \["src/a", "src/mylib"\]',
        mended={"settings": WHEEL + 'packages = ["src/a", "src/mylib"]'},
    ),
    "not among only-include": Layout(
        HERE | py("a/__init__.py", "mylib/__init__.py"), BUILD + 'only-include = ["a"]', 'package = "mylib"',
        wheel=r'no module of mylib: add "mylib" to `only-include` in \[tool\.hatch\.build\]',
        mended={"settings": BUILD + 'only-include = ["a", "mylib"]'},
    ),
    "excluded": Layout(
        HERE | py("mylib/__init__.py"), WHEEL + 'exclude = ["*.py"]',
        wheel=r"`exclude` in \[tool\.hatch\.build\.targets\.wheel\], .* leaves out mylib/__init__\.py",
        mended={"settings": ""},
    ),
    "bypass-selection": Layout(
        HERE | py("kubekern/__init__.py"), WHEEL + "bypass-selection = true", 'package = "kubekern"', "acme-kubekern",
        "kubekern", wheel="`bypass-selection` leaves out all that no `force-include` names; remove it from ",
        mended={"settings": WHEEL + 'packages = ["kubekern"]'},
    ),
    "a hook that makes the package too late": Layout(
        HERE | {"hatch_build.py": GENERATOR}, FORCE + '"made" = "mylib"', CUSTOM,
        wheel="If build hook custom brings the package, name it before `cuda-kernels`", sdist="",
        mended={"settings": CUSTOM + FORCE + '"made" = "mylib"', "hook": ""},
    ),
    "only-packages without one": Layout(
        HERE | py("mylib/code.py"), WHEEL + 'packages = ["mylib"]\nonly-packages = true',
        wheel="`only-packages` in .* leaves out folders without __init__.py",
        mended={"files": HERE | py("mylib/__init__.py")},
    ),
    "renamed, and named as it was": Layout(
        HERE | py("core/__init__.py"), WHEEL + 'only-include = ["core"]\nsources = {"core" = "mylib"}',
        'package = "core"', wheel='the wheel has core as mylib; .* package = "mylib"',
        mended={"hook": 'package = "mylib"', "editable": "Dev mode installations are unsupported"},
    ),
    "a namespace that packages leave out": Layout(
        HERE | py("src/acme/mylib/__init__.py"), WHEEL + 'packages = ["src/acme/mylib"]', 'package = "acme.mylib"',
        package="acme.mylib",
        wheel=r'the wheel has src/acme/mylib as mylib; .*package = "mylib", or ship acme.mylib with packages = '
        r'\["src/acme"\]',
        mended={"settings": WHEEL + 'packages = ["src/acme"]'},
    ),
    "a name with dots": Layout(
        HERE | py("src/acme/cloud/mylib/__init__.py"), name="acme.cloud.mylib", package="acme.cloud.mylib",
        wheel=r'For acme\.cloud\.mylib, write:\s+\[tool\.hatch\.build\.targets\.wheel\]\npackages = \["src/acme"\]',
        mended={"settings": WHEEL + 'packages = ["src/acme"]'},
    ),
    "a namespace that is not selected": Layout(
        HERE | py("src/a/__init__.py", "src/acme/mylib/__init__.py"), WHEEL + 'packages = ["src/a"]',
        hook='package = "acme.mylib"', package="acme.mylib",
        wheel=r'no module of src/acme/mylib: write packages = \["src/a", "src/acme"\]',
        mended={"settings": WHEEL + 'packages = ["src/a", "src/acme"]'},
    ),
    "a folder that Python cannot import": Layout(
        HERE | py("My.Lib/__init__.py"), name="My.Lib", package="my_lib",
        wheel=r"the wheel has My\.Lib as My\.Lib, which Python cannot import; rename the folder, to my_lib for example",
        mended={"files": HERE | py("my_lib/__init__.py")},
    ),
    "several packages": Layout(
        HERE | py("a/__init__.py", "b/__init__.py"), WHEEL + 'packages = ["a", "b"]', package="b",
        wheel="the wheel has the packages a, b; name the one that gets the kernels with option `package`",
        mended={"hook": 'package = "b"'},
    ),
    "link before the package": Layout(
        HERE | {"src/alink": Link("mylib")} | py("src/mylib/__init__.py"),
        WHEEL + 'only-include = ["src"]\nsources = ["src"]',
        wheel=r'has src/mylib as alink: .* the link src/alink first; .* packages = \["src/mylib"\]',
        mended={"files": HERE | py("src/mylib/__init__.py")},
    ),
    "link before the folder that is included": Layout(
        HERE | {"alink": Link("src/mylib")} | py("src/mylib/__init__.py"),
        WHEEL + 'include = ["src/mylib"]\nsources = ["src"]',
        wheel=r'no module of src/mylib: .* the link alink first; .* packages = \["src/mylib"\]',
        mended={"files": HERE | py("src/mylib/__init__.py")},
    ),
    "link before the package, in sdists": Layout(
        HERE | {"src/alink": Link("mylib")} | py("src/mylib/__init__.py"),
        sdist="it has src/mylib/__init__.py as src/alink/__init__.py: .* comes to this link first; .* only-include",
        mended={"settings": SDIST + 'only-include = ["src/mylib"]'},
    ),
    "sources of all": Layout(
        IN_SRC | py("src/mylib/__init__.py"), BUILD + 'sources = ["src"]', 'manifest = "src/mylib/kernels.yaml"',
        sdist=r"`sources` in \[tool\.hatch\.build\] moves src/mylib/kernels\.yaml to mylib/kernels\.yaml, .* belongs "
        r"under \[tool\.hatch\.build\.targets\.wheel\]",
        mended={"settings": WHEEL + 'sources = ["src"]'},
    ),
    "sources of sdists": Layout(
        IN_SRC | py("src/mylib/__init__.py"), SDIST + 'sources = {"src/mylib" = "mine"}',
        'manifest = "src/mylib/kernels.yaml"',
        sdist=r"`sources` in \[tool\.hatch\.build\.targets\.sdist\] moves src/mylib/kernels\.yaml to mine/kernels\.y",
        mended={"settings": ""},
    ),
    "packages of all": Layout(
        HERE | py("src/mylib/__init__.py"), BUILD + 'packages = ["src/mylib"]',
        sdist=r"`packages` in \[tool\.hatch\.build\] moves src/mylib/__init__\.py to mylib/__init__\.py, also in "
        r"sdists; it belongs under \[tool\.hatch\.build\.targets\.wheel\]",
        mended={"settings": WHEEL + 'packages = ["src/mylib"]'},
    ),
    "packages of all, with the kernels": Layout(
        IN_SRC | py("src/mylib/__init__.py"), BUILD + 'packages = ["src/mylib"]',
        'manifest = "src/mylib/kernels.yaml"',
        sdist=r"`packages` in \[tool\.hatch\.build\] moves src/mylib/kernels\.yaml to mylib/kernels\.yaml",
        mended={"settings": WHEEL + 'packages = ["src/mylib"]'},
    ),
    "an sdist without the package": Layout(
        HERE | py("mylib/__init__.py"), SDIST + 'exclude = ["mylib"]',
        sdist=r"it lacks mylib/__init__\.py; let \[tool\.hatch\.build\.targets\.sdist\] include it",
        mended={"settings": ""},
    ),
    "force-include of sdists": Layout(
        HERE | py("mylib/__init__.py"), "[tool.hatch.build.targets.sdist.force-include]\n" + '"mylib" = "other"',
        sdist=r"`force-include` in \[tool\.hatch\.build\.targets\.sdist\] moves mylib/__init__\.py to other/",
        mended={"settings": ""},
    ),
    "force-include of all": Layout(
        HERE | py("python/code/__init__.py"), "[tool.hatch.build.force-include]\n" + '"python/code" = "mylib"',
        sdist=r"`force-include` in \[tool\.hatch\.build\] moves python/code to mylib, also in sdists; it belongs ",
        mended={"settings": FORCE + '"python/code" = "mylib"'},
    ),
    "force-include from outside": Layout(
        HERE | {"../LICENSE": ""} | py("mylib/__init__.py"), FORCE + '"../LICENSE" = "mylib/LICENSE"',
        sdist="LICENSE is outside of the project, .* build wheels from the project itself",
    ),
    "force-include of a parent": Layout(HERE | py("python/x.py", "python/mylib/__init__.py"), FORCE + '"python" = "."'),
    "a store in a folder that is forced": Layout(
        HERE | py("code/__init__.py") | {"code/_kernels/kernels.tsv": ""}, FORCE + '"code" = "mylib"',
        wheel="the wheel would have the kernel store code/_kernels besides its own; remove it",
        mended={"files": HERE | py("code/__init__.py")},
    ),
    "a file in the store's folder": Layout(
        HERE | py("mylib/__init__.py") | {"notes.txt": ""}, FORCE + '"notes.txt" = "mylib/_kernels/notes.txt"',
        wheel=r"the wheel has mylib/_kernels/notes\.txt .* is not part of the store; .* put it elsewhere",
        sdist="", editable="",
        mended={"settings": FORCE + '"notes.txt" = "mylib/notes.txt"'},
    ),
    "sources that move the store": Layout(
        HERE | py("mylib/__init__.py"), WHEEL + 'sources = {"mylib/_kernels" = "mylib/kernels"}',
        wheel=r"`sources` in \[tool\.hatch\.build\.targets\.wheel\] moves each path away from mylib/_kernels",
        mended={"settings": ""},
    ),
    "a store of another package": Layout(
        HERE | py("mylib/__init__.py", "old/__init__.py") | {"old/_kernels/kernels.tsv": ""},
        WHEEL + 'packages = ["mylib", "old"]', editable="",
        wheel="the wheel would have the kernel store old/_kernels besides its own; remove it, or exclude it",
        mended={"settings": WHEEL + 'packages = ["mylib", "old"]\nexclude = ["/old/_kernels"]'},
    ),
    "another table for wheels": Layout(
        HERE | py("a/__init__.py", "b/__init__.py"),
        WHEEL + 'packages = ["a", "b"]\n[tool.hatch.build.targets.wheel.hooks.cuda-kernels]\npackage = "b"\n',
        'package = "a"', package="b",
    ),
    "a package from outside": Layout(
        HERE | {"../shared/mylib/__init__.py": ""}, FORCE + '"../shared/mylib" = "mylib"',
        sdist="shared/mylib is outside of the project, .* build wheels from the project itself",
    ),
    "a linked module of another project": Layout(
        HERE | {"mylib/code.py": Link("../../shared/code.py"), "../shared/code.py": ""} | py("mylib/__init__.py"),
        sdist="it has mylib/code.py as a link that leads out of it; put a file in its place",
        mended={"files": HERE | py("mylib/__init__.py", "mylib/code.py")},
    ),
    "a link that no front end unpacks": Layout(
        HERE | {"notes": Link("/etc/hostname")} | py("mylib/__init__.py"),
        sdist="no front end unpacks the sdist: .*notes.* put a file in place of the link",
        mended={"files": HERE | py("mylib/__init__.py")},
    ),
}  # fmt: skip
