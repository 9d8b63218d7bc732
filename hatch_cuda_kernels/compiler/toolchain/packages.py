"""Which packages hold the parts of a CUDA toolkit, the bindings and this package's extras, and how to install them.

All advice to install something is made here. The commands suit whatever made the environment: pip, uv, uvx, uv tool or
pipx. An environment of uvx or ``pipx run`` is for one run: there, to install is to run this program again, with more.
Requirements bring this package from where it was installed.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shlex
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.includes import MARK, is_in_environment, package_folders, package_of

if TYPE_CHECKING:
    from importlib.metadata import Distribution, PackageMetadata

#: From CUDA 13 on; before, the names end in the CUDA major.
_DISTRIBUTIONS: Final = {
    "nvrtc": "nvidia-cuda-nvrtc",
    "nvjitlink": "nvidia-nvjitlink",
    "cccl": "nvidia-cuda-cccl",
    "crt": "nvidia-cuda-crt",
    "cudart": "nvidia-cuda-runtime",
    "ptxas": "nvidia-cuda-nvcc",
    "cudadevrt": "nvidia-cuda-runtime",
}
#: In CUDA 12, the compiler's own headers come with nvcc.
_CUDA_12: Final = {"crt": "nvidia-cuda-nvcc"}
_FIRST_PLAIN_MAJOR: Final = 13
#: The minor of the first release of a major that is supported, where that is not 0.
_FIRST_MINOR: Final = {12: ".9"}
_VERSION: Final = re.compile(r"[0-9.]+")
#: conda-forge's names of the parts; of the compiler's headers, followed by the platform.
_CONDA: Final = {
    "nvrtc": "cuda-nvrtc",
    "nvjitlink": "libnvjitlink",
    "cccl": "cuda-cccl",
    "crt": "cuda-crt-dev_",
    "cudart": "cuda-cudart-dev",
}
#: What metadata says where a licence is not stated.
_NO_LICENCE: Final = frozenset({"", "UNKNOWN"})
_LONGEST_LICENCE: Final = 80
_LICENCE_FILE: Final = re.compile(
    r"\.dist-info/(?:licenses/)?((?:[^/]+/)*[^/]*(?:licen[cs]e|copying|notice)[^/]*)", re.IGNORECASE
)
Maker = Literal["pip", "uv", "uvx", "uv tool", "pipx", "pipx run"]
_PROGRAM: Final = "hatch-cuda-kernels"
_MODULE: Final = ("hatch_cuda_kernels", "__main__.py")
_PIPX_NOTES: Final = "pipx_metadata.json"
#: The format of the notes of the last pipx whose ``run`` had no ``--with``; its next releases wrote the same.
_NO_WITH: Final = (0, 5)
#: pip's options, as the others spell them.
_AS_UV: Final = {"--force-reinstall": "--reinstall", "--upgrade": "--upgrade"}


def distribution(part: str, major: int) -> str:
    """Return the name of the distribution with a part of a CUDA major. Raises KeyError for an unknown part."""
    if major >= _FIRST_PLAIN_MAJOR:
        return _DISTRIBUTIONS[part]
    return f"{_CUDA_12.get(part, _DISTRIBUTIONS[part])}-cu{major}"


def pinned(part: str, release: tuple[int, int]) -> str:
    """Return the requirement for a part of exactly this toolkit release."""
    return f"{distribution(part, release[0])}=={release[0]}.{release[1]}.*"


def exactly(part: str, major: int, version: str) -> str:
    """Return the requirement for exactly this version of a part of a CUDA major; for any if the version is empty."""
    return f"{distribution(part, major)}{version and f'=={version}'}"


def at_least(part: str, release: tuple[int, int]) -> str:
    """Return the requirement for a part of this toolkit release or a later one of the same major."""
    major, minor = release
    return f"{distribution(part, major)}>={major}.{minor},<{major + 1}"


def curand(release: tuple[int, int]) -> str:
    """Return the requirement for the cuRAND of a toolkit release; its own version numbers are not the toolkit's."""
    return f"cuda-toolkit[curand]=={release[0]}.{release[1]}.*"


def bindings(major: int) -> str:
    """Return the requirement for the cuda-bindings that load the libraries of a CUDA major."""
    return f"cuda-bindings>={major}{_FIRST_MINOR.get(major, '')},<{major + 1}"


def first_release(major: int = _FIRST_PLAIN_MAJOR) -> tuple[int, int]:
    """Return the oldest release of a CUDA major that is supported: its PTX suits the most drivers."""
    return major, int(_FIRST_MINOR.get(major, ".0").removeprefix("."))


def release_requirements(release: tuple[int, int], *, finishers: Iterable[str] = ()) -> list[str]:
    """Return the requirements for a toolkit release: bindings, headers, NVRTC and what else finishes images."""
    parts = ("crt", "cccl", "nvrtc", "cudart", *sorted(finishers))
    return [bindings(release[0]), *dict.fromkeys(pinned(part, release) for part in parts)]


def toolchain_requirements(
    nvrtc: str, nvjitlink: str = "", headers: str = "", ptxas: str = "", cudadevrt: str = ""
) -> list[str]:
    """Return the requirements for the versions of a toolchain, without the digests of altered files."""
    major = int(nvrtc.partition(".")[0])
    tools = {"nvrtc": nvrtc, "nvjitlink": nvjitlink, "ptxas": ptxas, "cudadevrt": cudadevrt}
    versions = {name: version.partition("+")[0] for name, version in tools.items()}
    versions |= {name: version for name, _, version in (part.partition(" ") for part in headers.split(", "))}
    known = ((part, version) for part, version in versions.items() if part in _DISTRIBUTIONS)
    return list(dict.fromkeys(exactly(part, major, version) for part, version in known if _VERSION.fullmatch(version)))


def reinstall_option(versions: Iterable[str]) -> str:
    """Return the option with which pip replaces altered files, if one of these versions has a digest; else nothing."""
    return "--force-reinstall" if any("+" in version for version in versions) else ""


def own(extras: str = "", version: str = "") -> str:
    """Return the requirement for this package, from where it was installed; of an index, perhaps of one version."""
    reference = direct_reference()
    named = f"{_PROGRAM}[{extras}]" if extras else _PROGRAM
    return f"{named} @ {reference}" if reference else f"{named}{version and f'=={version}'}"


def build_extra(major: int) -> str:
    """Return the name of the extra that builds with the bindings of a CUDA major."""
    return "build" if major >= _FIRST_PLAIN_MAJOR else f"build-cu{major}"


def pip_install(*requirements: str, options: str = "", here: bool = True) -> str:
    """Return the command that installs those requirements that are missing here, with pip's ``options``.

    Without ``here``, it is for any environment. If an environment cannot be changed, the command makes a new one.
    """
    maker, whole = made_by() if here else "pip", own("build")
    needed = requirements
    if here and not options:
        needed = _missing(requirements, anew=maker in {"uvx", "uv tool", "pipx run"}) or requirements
    if maker == "pip":
        return _joined("python3 -m pip install", options, map(quoted, needed))
    if maker == "uv":
        return _joined(_uv(), options, map(quoted, needed))
    name, more = Path(sys.prefix).name, [one for one in needed if one != whole]
    if maker == "pipx":  # which installs again, with its extra, what the environment was made for
        inject = _joined("pipx inject", _pip_options(options), quoted(name), map(quoted, more)) if more else ""
        install = f"pipx install --force {quoted(whole)}" if whole in needed and name == _PROGRAM else ""
        return " && ".join(filter(None, (install, inject)))
    if maker == "pipx run" and not _run_takes_more():
        inject = _joined("pipx inject", _pip_options(options), _PROGRAM, map(quoted, more))
        return f'pipx install "{whole}"{f" && {inject}" if more else ""}'
    if maker == "uv tool":
        withs = (f"--with {quoted(one)}" for one in more)
        return _joined("uv tool install", _uv_options(options), withs, quoted(whole if name == _PROGRAM else name))
    started = Path(sys.argv[0])
    is_program = started.stem == _PROGRAM or started.parts[-2:] == _MODULE  # whose arguments can be given again
    return _again(maker, whole, options, more, (_PROGRAM, *map(quoted, sys.argv[1:])) if is_program else ())


def is_conda() -> bool:
    """Return whether conda made this environment."""
    return (Path(sys.prefix) / "conda-meta").is_dir()


def conda_install(*parts: str, release: tuple[int, int]) -> str:
    """Return conda's command that brings parts of a toolkit release, and makes those that are here of that release."""
    machine = "aarch64" if platform.machine() in {"aarch64", "arm64"} else "64"
    system = f"{'win' if sys.platform == 'win32' else 'linux'}-{machine}"
    names = [f"{name}{system}" if (name := _CONDA[part]).endswith("_") else name for part in parts]
    version = f"cuda-version={release[0]}.{release[1]}"
    return _joined("conda install --channel conda-forge", version, names)


@cache
def direct_reference() -> str:
    """Return what follows ``@`` in a requirement for this package, by ``direct_url.json``; empty if an index had it."""
    from importlib.metadata import PackageNotFoundError  # most processes give no advice
    from importlib.metadata import distribution as installed

    try:
        noted = installed(_PROGRAM).read_text("direct_url.json")
        return reference_of(json.loads(noted)) if noted else ""
    except (PackageNotFoundError, OSError, ValueError, LookupError, TypeError, AttributeError):
        return ""


def reference_of(noted: dict[str, Any]) -> str:
    """Return the direct reference (PEP 440) for what ``direct_url.json`` says. Raises LookupError for other data."""
    url, vcs, folder = str(noted["url"]), noted.get("vcs_info"), noted.get("subdirectory")
    if vcs is not None:
        url = f"{vcs['vcs']}+{url}@{vcs.get('requested_revision') or vcs['commit_id']}"
    return f"{url}#subdirectory={folder}" if folder else url


def documentation(page: str, section: str = "") -> str:
    """Return where you can read a page such as ``reference/cli``: on the project's site, or in the source folder."""
    anchor = f"#{section}" if section else ""
    if site := project_url("documentation").rstrip("/"):
        return f"{site}/{page}.html{anchor}"
    from urllib.parse import urlsplit  # most processes name no page
    from urllib.request import url2pathname

    source = urlsplit(direct_reference())
    folders = [Path(__file__).parents[3], *([Path(url2pathname(source.path))] if source.scheme == "file" else [])]
    found = next((path for folder in folders if (path := folder / f"docs/{page}.md").is_file()), None)
    return f"{found}{anchor}" if found else f"docs/{page}.md{anchor}, in the sdist"


def project_url(*labels: str) -> str:
    """Return the address that the package's metadata has below one of these labels in lower case; empty without one."""
    from importlib.metadata import PackageNotFoundError, metadata  # as above

    try:
        urls = metadata(_PROGRAM).get_all("Project-URL", [])
    except PackageNotFoundError:
        return ""
    labelled = (url.partition(",")[::2] for url in urls)
    return next((address.strip() for label, address in labelled if label.strip().lower() in labels), "")


def made_by() -> Maker:
    """Return what made this environment."""
    prefix = Path(sys.prefix)
    if (prefix / _PIPX_NOTES).is_file():
        # Where pipx keeps the environments of programs that it installed; those of ``pipx run`` are in its cache.
        return "pipx" if prefix.parent.name == "venvs" else "pipx run"
    try:
        lines = (prefix / "pyvenv.cfg").read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        lines = []
    if not any(line.startswith("uv = ") for line in lines):
        return "pip"
    if (prefix / "uv-receipt.toml").is_file():
        return "uv tool"
    # Where uv keeps the environments of uvx: ``archive-v0`` in its cache.
    if prefix.parent.name.startswith("archive-v"):
        return "uvx" if shutil.which("uvx") else "pipx run"  # with the uv that pipx brought
    return "pip" if find_spec("pip") is not None else "uv"


def made_for_one_run() -> bool:
    """Return whether this environment gets more by running the program again."""
    maker = made_by()
    return maker == "uvx" or (maker == "pipx run" and _run_takes_more())


def program_command(whole: str, requirements: Iterable[str] = ()) -> str:
    """Return what runs this program, up to its arguments. ``whole`` is the requirement for all that it needs.

    In an environment that is made for each run, the command adds the requirements that are missing.
    """
    maker = made_by()
    if made_for_one_run() or (maker == "pipx run" and not requirements):
        return _again(maker, whole, "", _missing(tuple(requirements), anew=True), (_PROGRAM,))
    if maker in {"uv tool", "pipx", "pipx run"}:
        return _PROGRAM
    # What ``uv run`` sets for the processes that it starts.
    if maker == "uv" and "UV_RUN_RECURSION_DEPTH" in os.environ:
        return f"uv run {_PROGRAM}"
    found = shutil.which(_PROGRAM)
    if found is not None and Path(found).parent == Path(sys.executable).parent:
        return _PROGRAM
    return f"{python_command()} -m hatch_cuda_kernels"


def python_command() -> str:
    """Return what starts this Python."""
    for name in ("python", "python3"):
        found = shutil.which(name)
        if found is not None and Path(found).absolute().parent == Path(sys.executable).parent:
            return name
    return quoted(sys.executable)


def _again(maker: Maker, whole: str, options: str, more: Iterable[str], arguments: Iterable[str]) -> str:
    """Return the command that makes an environment for one run, with more in it, and runs the arguments there."""
    start, source = ("uvx", "--from") if maker == "uvx" else ("pipx run", "--spec")
    changed = _uv_options(options) if maker == "uvx" else _pip_options(options, cached=True)
    withs = (f"--with {quoted(one)}" for one in more)
    return _joined(start, changed, withs, [f"{source} {quoted(whole)}", *arguments] if arguments else ["..."])


def editable_install(folder: Path) -> str:
    """Return the command that installs the project around a folder again, editable and with its kernels."""
    root = next((place for place in (folder, *folder.parents) if (place / "pyproject.toml").is_file()), folder)
    shown = "." if root == Path.cwd() else quoted(str(root))
    maker, home = made_by(), Path(sys.prefix).parent
    if maker not in {"uv", "uvx", "uv tool"}:
        return f"python3 -m pip install --editable {shown}"
    import tomllib  # most processes give no advice

    try:
        name = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["name"]
    except (OSError, ValueError, LookupError, TypeError):
        name = None
    again = f"--reinstall-package {name}" if name and isinstance(name, str) else "--reinstall"
    if any((place / "uv.lock").is_file() for place in (root, home)):
        return _joined("uv sync", "" if Path.cwd().is_relative_to(root) else f"--project {shown}", again, "--inexact")
    return _joined(_uv() if maker == "uv" else "uv pip install", again, f"--editable {shown}")


def quoted(text: str) -> str:
    """Return a word as a shell takes it. The quotes are double where that will do, also in the shell of Windows."""
    # What no shell takes for anything but itself.
    if re.fullmatch(r"[\w@%+=:,./-]+", text, flags=re.ASCII):
        return text
    # What means something to a shell within double quotes.
    return shlex.quote(text) if re.search(r'["$`\\!]', text) else f'"{text}"'


def _missing(requirements: tuple[str, ...], *, anew: bool) -> tuple[str, ...]:
    """Return the requirements that nothing here satisfies; ``anew``, those of an environment made for this program."""
    from importlib.metadata import PackageNotFoundError, requires  # most processes give no advice

    try:
        from packaging.requirements import Requirement  # the build extra's
    except ImportError:
        return requirements
    try:
        stated = map(Requirement, requires(_PROGRAM) or [])
    except PackageNotFoundError:
        stated = map(Requirement, ())
    brought = {one.name for one in stated if one.marker is None or one.marker.evaluate({"extra": "build"})}
    missing = []
    for text in requirements:
        asked = Requirement(text)
        is_plain = not (asked.url or asked.extras or (anew and asked.name not in brought))
        if not (is_plain and asked.specifier.contains(_version(asked.name), prereleases=True)):
            missing.append(text)
    return tuple(missing)


def _version(name: str) -> str:
    from importlib.metadata import PackageNotFoundError, metadata  # as above

    try:
        found = metadata(name)
    except PackageNotFoundError:
        return "0"
    stated = found.get_all("Version")  # a folder that pip left half removed states none
    return str(stated[0]) if stated else "0"


def _uv() -> str:
    """Return uv's command for this environment, which need not be named if uv finds it."""
    active = os.environ.get("VIRTUAL_ENV") == sys.prefix or os.path.abspath(".venv") == sys.prefix  # noqa: PTH100 - links stay
    return "uv pip install" if active else f"uv pip install --python {quoted(sys.prefix)}"


def _run_takes_more() -> bool:
    """Return whether ``pipx run`` has ``--with``, as it has since 1.10. uv stands in for one without notes."""
    try:
        noted = json.loads((Path(sys.prefix) / _PIPX_NOTES).read_text(encoding="utf-8"))
        return tuple(map(int, noted["pipx_metadata_version"].split("."))) > _NO_WITH
    except FileNotFoundError:
        return True
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return False


def _uv_options(options: str) -> str:
    return " ".join(_AS_UV[option] for option in options.split() if option in _AS_UV)


def _pip_options(options: str, *, cached: bool = False) -> str:
    return f'{"--no-cache " if cached else ""}--pip-args="{options}"' if options else ""


def _joined(*parts: str | Iterable[str]) -> str:
    words = (part if isinstance(part, str) else " ".join(part) for part in parts)
    return " ".join(filter(None, words))


class PackageRecord(NamedTuple):
    """A distribution that brought headers of a package."""

    package: str
    """What is imported."""
    distribution: str = ""
    """Empty where none is known that brought the files."""
    version: str = ""
    license: str = ""
    """As the metadata states it."""
    is_spdx: bool = False
    license_files: tuple[str, ...] = ()
    altered: bool = False
    """Whether a header is not as the distribution lists it: it was changed, or the install is editable."""

    def __str__(self) -> str:
        known = f"{self.distribution} {self.version}" if self.distribution else "of no distribution that is known"
        return f"{self.package} ({known}{', altered' if self.altered and self.distribution else ''})"

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> PackageRecord:
        """Read what ``to_json`` wrote."""
        return cls(**{**data, "license_files": tuple(data.get("license_files", ()))})

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of a store's index."""
        data = {**self._asdict(), "license_files": list(self.license_files)}
        return {name: value for name, value in data.items() if value}


def package_records(files: Mapping[str, str]) -> tuple[PackageRecord, ...]:
    """Return what brought those of some files, each with its sha256, that are in packages; sorted.

    Raises InputError for headers of one distribution that are of two installs: the parts of a namespace are one folder.
    """
    found: dict[tuple[str, str], PackageRecord] = {}
    sites: dict[tuple[str, str], str] = {}
    for path, digest in files.items():
        if package := package_of(path):
            one, site = _record(package.removeprefix(MARK), path.partition("/")[2], digest)
            key = one.package, one.distribution
            known = found.setdefault(key, one)
            if one.distribution and sites.setdefault(key, site) != site:
                places = f"{known.version} in {sites[key]} and {one.version} in {site}"
                raise InputError(f"headers of {one.package} are of {one.distribution} {places}; uninstall one of them")
            found[key] = known._replace(altered=known.altered or one.altered)
    return tuple(sorted(found.values()))


def installed_versions(package: str) -> frozenset[tuple[str, str]] | None:
    """Return name and version of each distribution that has files of a package here; None if the package is not."""
    try:
        is_here = package_folders(package) != ()
    except InputError:
        is_here = False
    described = (_described(package, owner.found) for owner in _owners(package))
    return frozenset((one.distribution, one.version) for one in described) if is_here else None


class _PackageOwner(NamedTuple):
    """A distribution, and those of its files that are in a package, with their digests as RECORD has them."""

    found: Distribution
    files: Mapping[str, str]


def _record(package: str, path: str, digest: str) -> tuple[PackageRecord, str]:
    """Return the record of one file, and where that is installed.

    It is of the distribution that lists the file with its digest, or else by its path.
    """
    import base64  # as for csv

    listed = base64.urlsafe_b64encode(bytes.fromhex(digest)).decode().rstrip("=")
    place = f"{package.replace('.', '/')}/{path}"
    owners = _owners(package)
    as_listed = (one for one in owners if one.files.get(place) == f"sha256={listed}")
    listing = next(as_listed, None)
    owner = listing or next((one for one in owners if place in one.files or not one.files), None)
    if owner is None:
        return PackageRecord(package, altered=True), ""
    return _described(package, owner.found, altered=listing is None), str(owner.found.locate_file(""))


def _owners(package: str) -> tuple[_PackageOwner, ...]:
    """Return the distributions that list files of a package; those of an editable install, with no files, last."""
    try:
        folders = package_folders(package)
    except InputError:
        return ()
    return _owners_in(package, folders)


@cache
def _owners_in(package: str, folders: tuple[Path, ...]) -> tuple[_PackageOwner, ...]:
    from importlib.metadata import distributions  # few projects include headers of packages

    lead = package.replace(".", "/") + "/"
    sites = dict.fromkeys(str(folder.parents[package.count(".")]) for folder in folders)
    found = [_PackageOwner(one, _listed(one, lead)) for site in sites for one in distributions(path=[site])]
    listing = sorted((one for one in found if one.files and _name(one.found)), key=lambda one: _name(one.found))
    sources = [folder for folder in folders if not is_in_environment(folder, package)]
    editable = (one for one in distributions() if any(_is_editable_at(one, folder) for folder in sources))
    return (*listing, *(_PackageOwner(one, {}) for one in editable if _name(one)))


def _read(found: Distribution, name: str) -> str:
    """Return a file of a distribution's metadata; empty where it is missing or damaged."""
    try:
        return found.read_text(name) or ""
    except (OSError, UnicodeDecodeError):
        return ""


def _name(found: Distribution) -> str:
    """Return a distribution's name; empty without metadata, as what is left of an uninstalled one has none."""
    return str(found.metadata["Name"] or "") if _read(found, "METADATA") else ""


def _listed(found: Distribution, lead: str) -> dict[str, str]:
    """Return those files of a distribution that begin so, with their digests."""
    record = _read(found, "RECORD")
    if lead not in record:
        return {}
    import csv  # few projects include headers of packages

    rows = csv.reader(line for line in record.splitlines() if line.lstrip('"').startswith(lead))
    return {row[0]: row[1] if len(row) > 1 else "" for row in rows}


def _is_editable_at(found: Distribution, folder: Path) -> bool:
    from urllib.parse import urlsplit  # most distributions are no editable ones
    from urllib.request import url2pathname

    try:
        stated = json.loads(_read(found, "direct_url.json") or "{}")
        source = urlsplit(stated["url"]) if stated.get("dir_info", {}).get("editable") else None
    except (ValueError, LookupError, AttributeError, TypeError):
        return False
    if source is None or source.scheme != "file":
        return False
    return folder.resolve().is_relative_to(Path(url2pathname(source.path)).resolve())


def _described(package: str, found: Distribution, *, altered: bool = False) -> PackageRecord:
    stated = found.metadata
    named = stated.get_all("License-File") or _licence_files(found)
    expressions = stated.get_all("License-Expression") or ()
    return PackageRecord(
        package=package,
        distribution=str(stated["Name"]),
        version=str(stated["Version"]),
        license=str(expressions[0]) if expressions else _licence(stated),
        is_spdx=bool(expressions),
        license_files=tuple(sorted(named)),
        altered=altered,
    )


def _licence_files(found: Distribution) -> Iterator[str]:
    """Yield the files that look like licences, of a distribution that does not state them."""
    import csv  # as above

    rows = csv.reader(_read(found, "RECORD").splitlines())
    matches = (_LICENCE_FILE.search(row[0]) for row in rows if row)
    return (match[1] for match in matches if match is not None)


def _licence(stated: PackageMetadata) -> str:
    """Return what metadata calls the licence: by its name if that is short, or else as classifiers do."""
    text = next(iter(stated.get_all("License") or ()), "").strip()
    if text not in _NO_LICENCE and "\n" not in text and len(text) <= _LONGEST_LICENCE:
        return text
    named = (one.rpartition(" :: ")[2] for one in stated.get_all("Classifier") or () if one.startswith("License ::"))
    return ", ".join(one for one in named if one != "OSI Approved")
