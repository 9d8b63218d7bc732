"""Import packages whose headers a project includes: where they are installed, and which distribution brought them.

No package is imported: the import system is asked for the first part of a name, and the rest are folders in it.
"""

from __future__ import annotations

import json
import re
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hatch_cuda_kernels.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from importlib.metadata import Distribution, PackageMetadata

#: Paths that begin so are of a package: ``@cupy/_core/include``. No such folder of a project is looked at.
MARK: Final = "@"
PACKAGE_NAME: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*", re.ASCII)
_SITES: Final = frozenset({"site-packages", "dist-packages"})
#: What metadata says where a licence is not stated.
_NO_LICENCE: Final = frozenset({"", "UNKNOWN"})
_LICENCE_FILE: Final = re.compile(
    r"\.dist-info/(?:licenses/)?((?:[^/]+/)*[^/]*(?:licen[cs]e|copying|notice)[^/]*)", re.IGNORECASE
)
_LONGEST_LICENCE: Final = 80


def package_of(path: str) -> str:
    """Return the package that a path of a project's files is in, ``@cupy``; empty where it is in the project."""
    return path.partition("/")[0] if path.startswith(MARK) else ""


def package_folders(name: str) -> tuple[Path, ...]:
    """Return the folders of an import package, several of a namespace package; none where it is not installed.

    Raises InputError for what has no folders: a module of one file, one in an archive, or of the standard library.
    """
    first, *rest = name.split(".")
    if first in sys.stdlib_module_names:
        raise InputError(f"{first!r} is Python's own module; name a package that is installed")
    places = [Path(place, *rest).absolute() for place in _places(first)]
    found = tuple(place for place in places if place.is_dir())
    found = next(((place,) for place in found if (place / "__init__.py").is_file()), found)
    if archive := next((place for place in places if _in_archive(place)), None) if not found else None:
        raise InputError(f"{name!r} is in the archive {archive}; install it, so that its files are in folders")
    return found


def _places(name: str) -> list[str]:
    """Return where the import system looks for the modules of a package. Raises InputError for a module of one file."""
    from importlib.util import find_spec  # few projects include headers of packages

    try:
        spec = find_spec(name)
    except (ImportError, AttributeError, ValueError):
        spec = None
    if spec is None and name in sys.modules:  # something else is in its place there
        finders = filter(None, (getattr(finder, "find_spec", None) for finder in sys.meta_path))
        spec = next(filter(None, (find(name, None) for find in finders)), None)
    if spec is not None and spec.submodule_search_locations is None:
        raise InputError(f"{name!r} is one file ({spec.origin}), and not a package, which may have folders of headers")
    return [] if spec is None else [str(place) for place in spec.submodule_search_locations or ()]


def _in_archive(place: Path) -> bool:
    return any(parent.is_file() for parent in place.parents)


def is_in_environment(folder: Path, name: str) -> bool:
    """Return whether a package's folder is where distributions are installed, and not among a project's sources."""
    site = folder.parents[name.count(".")]
    return site.name in _SITES or any(site.glob("*.dist-info"))


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
    """Whether that is an SPDX expression."""
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
