"""What NVRTC is shown of public sources, as digests, with the processor time that it takes.

    python benchmarks/host_code_outcomes.py CHECKOUTS --out FILE.json [--only NAME ...] [--each 2] [--against OLD.json]

CHECKOUTS holds repositories of corpus/list.toml, each in a folder ``owner+name``. Of each, some sources are taken, the
same for the same --seed, and read with ``host_code: auto`` and ``drop``. To see that a change of the package changes no
closure, run this with the package before it (``PYTHONPATH``), and after it with --against. Use an empty
HATCH_CUDA_KERNELS_CACHE_DIR for times without notes. Needs no GPU, and compiles nothing.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.append(str(Path(__file__).with_name("corpus")))

from drawn import drawn, options_of, source_parser

from hatch_cuda_kernels.compiler.job import Recipe
from hatch_cuda_kernels.compiler.recipe_reader import read_recipe
from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.options import HostCode, override_options

if TYPE_CHECKING:
    from sources import Repository


def main() -> None:
    parser = source_parser(__doc__, each=2)
    parser.add_argument("--against", type=Path, metavar="OLD.json")
    args = parser.parse_args()
    found: dict[str, tuple[str, float]] = {}
    for entry, root, source in drawn(args):
        found |= outcomes(entry, root, source)
    args.out.write_text(json.dumps(found, indent=1) + "\n")
    if args.against:
        old = json.loads(args.against.read_text())
        both = [name for name in found if name in old]
        changed = [name for name in both if found[name][0] != old[name][0]]
        before, after = (sum(each[name][1] for name in both) for each in (old, found))
        print(
            f"{len(both)} compared, {before:.1f} s before, {after:.1f} s now, {len(changed)} changed",
            *changed,
            sep="\n",
        )
        sys.exit(bool(changed))


def outcomes(entry: Repository, root: Path, source: str) -> dict[str, tuple[str, float]]:
    """Return the digest of what is compiled of a source and the seconds it took to read, for each way."""
    options = options_of(entry, root, source)
    found = {}
    for code in (HostCode.AUTO, HostCode.DROP):
        recipe = Recipe(module="source", sources=(source,), options=override_options(options, host_code=code))
        start = time.process_time()
        try:
            shown = repr(read_recipe(recipe, root, clocks=True).units)
        except InputError as error:
            shown = str(error)
        seconds = round(time.process_time() - start, 3)
        digest = hashlib.sha256(shown.encode(errors="surrogateescape")).hexdigest()
        print(f"{seconds:8.3f} s  {code} {entry.name} {source}", flush=True)
        found[f"{code} {entry.name} {source}"] = digest, seconds
    return found


if __name__ == "__main__":
    main()
