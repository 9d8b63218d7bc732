"""Take the README's picture of a terminal: what the demo says of the example project's wheel.

    hatch run pictures:demo

The pictures carry their text, which a test compares with what the commands print now.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Final

from report_pictures import IMAGES, ROOT, build_wheel
from screenshots import chromium, save
from terminal import page, record

#: The demo's ways to ask, with the wheel in the working folder.
COMMANDS: Final = (
    "verify {wheel} --max-size 5MB",
    "explain saxpy --package {wheel} --arch sm_90",
)
COLUMNS: Final = 104


def run() -> None:
    """Build the wheel, ask of it, and take the picture in both themes."""
    with tempfile.TemporaryDirectory() as scratch, chromium() as browser:
        folder = Path(scratch)
        wheel = build_wheel(ROOT / "example_project", folder).name
        recordings = []
        for words in (command.format(wheel=wheel) for command in COMMANDS):
            command = [sys.executable, "-m", "hatch_cuda_kernels", *words.split()]
            typed = f"hatch-cuda-kernels {words}"
            cache = {"HATCH_CUDA_KERNELS_CACHE_DIR": str(folder / "empty")}
            recordings.append(record(command, typed=typed, columns=COLUMNS, cwd=folder, environment=cache))
        text = "".join(f"$ {recording.typed}\n{recording.text}\n" for recording in recordings)
        for theme in ("light", "dark"):
            tab = browser.new_page(viewport={"width": 200, "height": 200}, device_scale_factor=2)
            tab.set_content(page(recordings, theme))
            save(tab.locator("body").screenshot(), IMAGES / f"demo-{theme}.png", text=text)
            tab.close()


if __name__ == "__main__":
    run()
