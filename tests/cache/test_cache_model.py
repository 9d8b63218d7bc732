"""A state machine: whatever is done to a cache in whatever order, it answers as a dictionary on disk would."""

from __future__ import annotations

import shutil
import tempfile
import warnings
from pathlib import Path

import pytest
from cache_entries import disk_bytes, entry_of, folder_of, key_of, reopen
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

NUMBERS = st.integers(0, 7)
OBJECTS = st.integers(0, 2)


def entry(number):
    """Return an entry; sizes differ."""
    return entry_of(number, 200 + 300 * (number % 3))


class CacheMachine(RuleBasedStateMachine):
    """Three cache objects over one folder, as three processes have them, and a model of what is where."""

    def __init__(self):
        super().__init__()
        self.home = Path(tempfile.mkdtemp(prefix="cache-model-"))
        self.path = self.home / "cache"
        self.caches = [reopen(self.path) for _ in range(3)]
        self.memory = [set() for _ in range(3)]
        self.disk = set()
        self.damaged = set()

    def teardown(self):
        """Remove the folder."""
        shutil.rmtree(self.home)

    @rule(which=OBJECTS, number=NUMBERS)
    def get(self, which, number):
        """Find an entry where this object or the disk has it, and only there."""
        with warnings.catch_warnings(action="ignore"):
            found = self.caches[which].get(key_of(number))
        here = number in self.memory[which]
        assert found == (entry(number) if here or number in self.disk - self.damaged else None)
        if found is not None:
            self.memory[which].add(number)
        elif not here and number in self.damaged:
            self.disk.discard(number)
            self.damaged.discard(number)

    @rule(which=OBJECTS, number=NUMBERS)
    def put(self, which, number):
        """Have an entry on disk; a damaged one that nobody has read yet keeps its place."""
        assert self.caches[which].put(entry(number))
        self.memory[which].add(number)
        self.disk.add(number)

    @rule(which=OBJECTS, number=NUMBERS)
    def get_or_make(self, which, number):
        """Make an image where it is nowhere to be found."""
        had = number in self.memory[which] or number in self.disk - self.damaged
        with warnings.catch_warnings(action="ignore"):
            assert self.caches[which].get_or_make(key_of(number), lambda: entry(number)) == (entry(number), not had)
        if number not in self.memory[which]:
            self.damaged.discard(number)
            self.disk.add(number)
        self.memory[which].add(number)

    @rule(which=OBJECTS, most=st.integers(0, 6000))
    def prune(self, which, most):
        """Leave no more than asked, and remove nothing where that much is not there."""
        before = sum(disk_bytes(entry(number)) for number in self.disk)
        with warnings.catch_warnings(action="ignore"):
            left = self.caches[which].prune(most)
        now = {number for number in range(8) if folder_of(self.path, number).exists()}
        assert left <= most
        assert now <= self.disk
        if before <= most and not self.damaged and not list(self.path.glob("v1/quarantine/*")):
            assert now == self.disk
        self.disk, self.damaged = now, self.damaged & now

    @rule(which=OBJECTS)
    def clear(self, which):
        """Forget what is on disk and in this object; others remember."""
        assert self.caches[which].clear() == len(self.disk)
        self.memory[which] = set()
        self.disk, self.damaged = set(), set()

    @rule(which=OBJECTS)
    def reopen(self, which):
        """Be another process, which remembers nothing."""
        self.caches[which] = reopen(self.path)
        self.memory[which] = set()

    @precondition(lambda self: self.disk)
    @rule(number=NUMBERS, name=st.sampled_from(["entry.json", "image.cubin"]))
    def damage(self, number, name):
        """Lose half of a file."""
        if number in self.disk - self.damaged:
            file = folder_of(self.path, number) / name
            file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
            self.damaged.add(number)

    @rule()
    def remove_by_hand(self):
        """Delete the whole cache, as a user may."""
        shutil.rmtree(self.path, ignore_errors=True)
        self.disk, self.damaged = set(), set()

    @invariant()
    def the_disk_is_as_the_model_has_it(self):
        """Compare the folders with the model; there is no temporary."""
        assert {number for number in range(8) if folder_of(self.path, number).exists()} == self.disk
        assert self.caches[0].info().entries == len(self.disk)
        assert not list(self.path.glob("v1/tmp/*"))


TestCacheMachine = pytest.mark.slow(CacheMachine.TestCase)
TestCacheMachine.settings = settings(
    max_examples=50,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=False,
)
