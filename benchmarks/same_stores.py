"""Compare the stores in two folders, byte for byte, and print the digest of each image as a table in Markdown.

python same_stores.py HERE THERE NAME_OF_THERE
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

here, there = map(Path, sys.argv[1:3])
print(f"| store | module | image | x86-64 Linux | {sys.argv[3]} |\n|---|---|---|---|---|")
images, files = [], []
for root in (here, there):
    indexes = {index.parent.relative_to(root): json.loads(index.read_text()) for index in root.rglob("index.json")}
    images.append({(module, image["arch"], image["kind"]): image["sha256"][:16]
                   for module, index in indexes.items() for image in index["images"]})  # fmt: skip
    files.append({path.relative_to(root): path.read_bytes() for path in root.rglob("*") if path.is_file()})
for (module, arch, kind), digest in sorted(images[0].items()):
    other = images[1].get((module, arch, kind), "")
    print(f"| {module.parts[0]} | {module.name} | {arch} {kind} | `{digest}` | `{other}` |")
differ = sorted(str(path) for path in files[0].keys() | files[1].keys() if files[0].get(path) != files[1].get(path))
if differ:
    raise SystemExit(f"these files differ: {', '.join(differ)}")
print(f"\n{len(images[0])} images and all {len(files[0])} files of the stores: the same on both.")
