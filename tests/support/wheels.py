"""Wheels taken apart, changed, and put together again with a RECORD that fits."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import tempfile
import zipfile
from base64 import urlsafe_b64encode
from pathlib import Path

from hatch_cuda_kernels.store.texts import digests_text, json_text

OWN_FILES = ("/kernels.tsv", "/promises.json", "/index.json", "/details.json")


class Wheel:
    """A wheel's files by path; those of its store also without the folder's path."""

    def __init__(self, path):
        with zipfile.ZipFile(path) as archive:
            self.files = {name: archive.read(name) for name in archive.namelist()}
        self.name = path.name
        listing = next(name for name in self.files if name.endswith("/_kernels/kernels.tsv"))
        self.store = listing.removesuffix("kernels.tsv")

    def __getitem__(self, name):
        return self.files[self.store + name]

    def __setitem__(self, name, data):
        self.files[self.store + name] = data

    def __delitem__(self, name):
        del self.files[self.store + name]

    def keep_only(self, *modules):
        """Take all other modules out of the store."""
        self["kernels.tsv"] = b"".join(
            line for line in self["kernels.tsv"].splitlines(keepends=True) if line.split(b"\t")[1].decode() in modules
        )
        needed = {path for module in modules for path in json.loads(self[f"{module}/index.json"])["files"]}
        kept = {"kernels.tsv", "promises.json", "digests.json", "standard_headers.json", *modules}
        inside = [name.removeprefix(self.store) for name in self.files if name.startswith(self.store)]
        for name in inside:
            if name.partition("/")[0] not in kept and name.removeprefix("project.source/") not in needed:
                del self[name]

    def edit_index(self, module, change, file="index.json"):
        """Apply a function to the JSON of a module's index, or of its details."""
        data = json.loads(self[f"{module}/{file}"])
        change(data)
        self[f"{module}/{file}"] = json_text(data).encode()

    def edit_image(self, module, file, change, **facts):
        """Apply a function to an image's bytes, and make its digest and size in the index fit; set other facts."""
        path = f"{module}/{file}"
        self[path] = change(self[path])
        facts |= {"sha256": hashlib.sha256(self[path]).hexdigest(), "bytes": len(self[path])}
        self.edit_index(module, lambda data: record(data, file).update(facts))

    def write(self, folder):
        """Write the wheel, with the digests and a RECORD of what it holds now, and return its path."""
        self._seal()
        self.write_record()
        return self.write_as_it_is(folder)

    def write_record(self):
        """Let RECORD list what the wheel holds now."""
        name = next(name for name in self.files if name.endswith(".dist-info/RECORD"))
        text = io.StringIO()
        rows = csv.writer(text, lineterminator="\n")
        rows.writerows((path, digest(data), len(data)) for path, data in self.files.items() if path != name)
        rows.writerow((name, "", ""))
        self.files[name] = text.getvalue().encode()

    def _seal(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, data in self.files.items():
                if name.startswith(self.store) and name.endswith(OWN_FILES):
                    path = Path(folder) / name.removeprefix(self.store)
                    path.parent.mkdir(exist_ok=True)
                    path.write_bytes(data)
            self["digests.json"] = digests_text(Path(folder)).encode()

    def write_as_it_is(self, folder):
        """Write the wheel with the RECORD it has."""
        with zipfile.ZipFile(folder / self.name, "w", zipfile.ZIP_DEFLATED) as archive:
            for path, data in self.files.items():
                archive.writestr(path, data)
        return folder / self.name


def record(index, file):
    """Return what an index says of an image."""
    return next(image for image in index["images"] if image["file"] == file)


def digest(data):
    """Return a digest as RECORD writes it."""
    return f"sha256={urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()}"
