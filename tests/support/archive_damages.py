"""Wheels whose archive some readers take for another: each record can be written as it should not be."""

from __future__ import annotations

import io
import stat
import struct
import zipfile
import zlib
from dataclasses import dataclass, field

HEADER, ROW, END = struct.Struct("<4s5H3L2H"), struct.Struct("<4s6H3L5H2L"), struct.Struct("<4s4H2LH")
END64, LOCATOR = struct.Struct("<4sQ2H2L4Q"), struct.Struct("<4sLQL")
LONG = (1 << 32) - 1
UTF_8 = 0x800
INIT = "example_project/__init__.py"
FACTS = ("flags", "method", "time", "date", "crc", "packed", "size")


@dataclass
class Member:
    """A member: what both of its headers say, and what only one of them says."""

    name: bytes
    data: bytes
    """As it is packed."""
    crc: int
    size: int
    flags: int = 0
    method: int = 8
    time: int = 0
    date: int = 33
    needed: int = 20
    made_by: int = 20 | 3 << 8
    attributes: int = (stat.S_IFREG | 0o644) << 16
    disk: int = 0
    comment: bytes = b""
    extra: bytes = b""
    local_extra: bytes = b""
    packed: int | None = None
    local: dict = field(default_factory=dict)
    """What the local header says otherwise."""
    row: dict = field(default_factory=dict)
    """What the directory says otherwise."""
    before: bytes = b""
    """What is in front of the local header."""
    offset: int = 0

    @classmethod
    def of(cls, name, text=b"", **facts):
        """Return a member with this text, deflated."""
        packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
        name = name.encode() if isinstance(name, str) else name
        facts = {"flags": 0 if name.isascii() else UTF_8} | facts
        return cls(name, packer.compress(text) + packer.flush(), zlib.crc32(text), len(text), **facts)

    def header(self):
        """Return the local header with the data."""
        facts = self._facts(self.local)
        numbers = [facts[name] for name in FACTS]
        name = facts["name"]
        sizes = len(name), len(self.local_extra)
        return HEADER.pack(b"PK\3\4", facts["needed"], *numbers, *sizes) + name + self.local_extra + self.data

    def entry(self):
        """Return the row in the directory."""
        facts = self._facts(self.row)
        numbers = [facts[name] for name in FACTS]
        name = facts["name"]
        sizes = len(name), len(self.extra), len(self.comment)
        where = self.disk, 0, self.attributes, facts["offset"]
        start = ROW.pack(b"PK\1\2", self.made_by, facts["needed"], *numbers, *sizes, *where)
        return start + name + self.extra + self.comment

    def _facts(self, others):
        packed = len(self.data) if self.packed is None else self.packed
        return vars(self) | {"packed": packed} | others


class Archive:
    """A wheel's members, in order, and what else is in its file."""

    def __init__(self, path):
        self.path = path
        with zipfile.ZipFile(path) as archive:
            infos = archive.infolist()
            self.members = [Member.of(info.filename, archive.read(info)) for info in infos]
        self.rows = None
        """What the directory lists, unless it is all members."""
        self.start = self.directory = self.behind = b""
        """What is in front of the members, of the directory, and behind the end."""
        self.shift = 0
        """What is added to each offset, and to that of the directory."""
        self.end = {}
        """What the record at the end says otherwise: disk, first_disk, here, rows, size, start, comment."""
        self.end64 = None
        """The same of a ZIP64 record, with ``where`` for its locator."""

    def __getitem__(self, name):
        return next(member for member in self.members if member.name == name.encode())

    def add(self, name, text=b"", **facts):
        """Add a member, and return it."""
        self.members.append(Member.of(name, text, **facts))
        return self.members[-1]

    def list_in_record(self):
        """Let RECORD list all members that are files."""
        from wheels import digest

        record = next(member for member in self.members if member.name.endswith(b".dist-info/RECORD"))
        lines = [
            f"{_quoted(member.name.decode())},{digest(text)},{len(text)}\n"
            for member in self.members
            if member is not record and not member.name.endswith(b"/")
            for text in [_text(member)]
        ]
        text = "".join([*lines, f"{record.name.decode()},,\n"]).encode()
        vars(record).update(vars(Member.of(record.name, text)))

    def write(self):
        """Write the file."""
        made = bytearray(self.start)
        for member in self.members:
            made += member.before
            member.offset = len(made) + self.shift
            made += member.header()
        made += self.directory
        start, rows = len(made) + self.shift, self.members if self.rows is None else self.rows
        made += b"".join(row.entry() for row in rows)
        size = len(made) + self.shift - start
        facts = {"disk": 0, "first_disk": 0, "here": len(rows), "rows": len(rows), "size": size, "start": start}
        if self.end64 is not None:
            made += self._end64(facts | self.end64, len(made) + self.shift)
        facts |= {"comment": 0} | self.end
        made += END.pack(b"PK\5\6", *facts.values()) + self.behind
        self.path.write_bytes(made)

    def _end64(self, facts, at):
        length, where = facts.pop("length", END64.size - 12), facts.pop("where", at)
        record = END64.pack(b"PK\6\6", length, 45, 45, *facts.values())
        return record + LOCATOR.pack(b"PK\6\7", 0, where, 1)


def _text(member):
    return zlib.decompress(member.data, -zlib.MAX_WBITS) if member.method == 8 else member.data


def _quoted(name):
    return '"{}"'.format(name.replace('"', '""')) if set(name) & set(',"') else name


def by_directory(data):
    """Return the files of an archive as pip finds them."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def by_headers(data):
    """Return the files of an archive as a reader finds them that takes one header after the other."""
    found, at = {}, 0
    while data[at : at + 4] == b"PK\3\4":
        _, _, _, method, _, _, _, packed, _, name, extra = HEADER.unpack_from(data, at)
        start = at + HEADER.size + name + extra
        text, at = data[start : start + packed], start + packed
        found[data[start - name - extra : start - extra].decode()] = zlib.decompress(text, -15) if method else text
    return found


def other(**facts):
    """Return a damage: let the local header of a file say something else."""
    return lambda archive: archive[INIT].local.update(facts)


def both(**facts):
    """Return a damage: let both headers of a file say something."""

    def change(archive):
        for name, value in facts.items():
            setattr(archive[INIT], name, value)

    return change


def with_names(*names):
    """Return a damage: more members, that RECORD lists."""

    def change(archive):
        for name in names:
            archive.add(name)
        archive.list_in_record()

    return change


def prefixed(archive):
    """Put a program in front, as self-extracting archives have it."""
    archive.start, archive.shift = b"#!/bin/sh\n", -10


def padded(archive):
    """Put a program in front, and count it."""
    archive.start = b"#!/bin/sh\n"


def with_comment(archive):
    """Add a comment."""
    archive.behind, archive.end = b"hello", {"comment": 5}


def commented_end(archive):
    """Announce a comment that is not there."""
    archive.end = {"comment": 5}


def hide_a_member(archive):
    """Leave a member out of the directory."""
    archive.rows = [member for member in archive.members if member.name != INIT.encode()]
    archive.list_in_record()


def add_a_hidden_member(archive):
    """Add a member that the directory does not list, before another one of its name."""
    archive[INIT].before = Member.of(INIT, b"import os\n").header()


def junk_between(archive):
    """Put bytes between two members."""
    archive[INIT].before = b"junk"


def junk_before_the_directory(archive):
    """Put bytes between the members and the directory."""
    archive.directory = b"junk"


def share_a_header(archive):
    """Let two rows of the directory lead to one local header."""
    from copy import deepcopy

    archive.rows = [*archive.members, deepcopy(archive[INIT])]
    archive.rows[-1].offset = 0
    archive.rows[-1].row = {"offset": _offset_of(archive, INIT)}


def _offset_of(archive, name):
    archive.write()
    return archive[name].offset


def lead_nowhere(archive):
    """Let a row of the directory lead to another place."""
    archive[INIT].row["offset"] = 1


def empty_it(archive):
    """Let the directory say that a file is empty: pip then writes an empty one, and reads nothing."""
    archive[INIT].row |= {"size": 0, "crc": 0}


def concatenate(archive):
    """Put another archive behind."""
    archive.write()
    archive.start, archive.shift = archive.path.read_bytes(), 0


def add_slack(archive):
    """Hide bytes behind the end of what is deflated."""
    archive[INIT].data += b"hidden"


def store_it(archive):
    """Store a file as it is, and claim that it has a byte more."""
    member = archive[INIT]
    member.data, member.method = _text(member), 0
    member.size += 1


def extra(kind, data=b"", *, local=True, row=True, declared=None):
    """Return a damage: a field of extra data in one header or both."""
    made = struct.pack("<2H", kind, len(data) if declared is None else declared) + data

    def change(archive):
        archive[INIT].local_extra, archive[INIT].extra = made if local else b"", made if row else b""

    return change


def other_name(**where):
    """Return a damage: another name in the field that Info-ZIP has for names in Unicode."""
    return extra(0x7075, struct.pack("<BL", 1, zlib.crc32(INIT.encode())) + b"example_project/other.py", **where)


def end(**facts):
    """Return a damage: let the record at the end say something else."""
    return lambda archive: archive.end.update(facts)


def end64(**facts):
    """Return a damage: a ZIP64 record that says something else."""
    return lambda archive: setattr(archive, "end64", facts)


def bomb(archive):
    """Add a file that unpacks to a thousand times its size."""
    archive.add("example_project/zeros", bytes(80 << 20))


def nothing(archive):
    """Write it as it is."""


def long_end(archive):
    """Write a ZIP64 record that nothing needs, as some writers do."""
    archive.end64, archive.end = {}, {"size": LONG, "start": LONG, "rows": (1 << 16) - 1, "here": (1 << 16) - 1}


def long_sizes(archive):
    """Have sizes in ZIP64 fields, in the local header."""
    member = archive[INIT]
    member.local_extra = struct.pack("<2H2Q", 1, 16, member.size, len(member.data))
    member.local = {"size": LONG, "packed": LONG}


def repeated_sizes(archive):
    """Have sizes in ZIP64 fields, too, as Bazel's writer has."""
    member = archive[INIT]
    member.local_extra = struct.pack("<2H2Q", 1, 16, member.size, len(member.data))


def long_offset(archive):
    """Have an offset in a ZIP64 field."""
    offset = _offset_of(archive, INIT)
    archive[INIT].extra, archive[INIT].row = struct.pack("<2HQ", 1, 8, offset), {"offset": LONG}


def with_folders(archive):
    """Have a member for a folder, and file times in extra data."""
    folder = archive.add("example_project/", attributes=(stat.S_IFDIR | 0o755) << 16 | 0x10)
    folder.data, folder.method = b"", 0
    archive[INIT].local_extra = struct.pack("<2HBL", 0x5455, 5, 1, 0)


def reordered(archive):
    """List the members in another order than they are in."""
    archive.rows = archive.members[::-1]


#: What is no damage.
SOUND = {
    "as it is": nothing, "ZIP64 end": long_end, "ZIP64 end that is not needed": end64(), "ZIP64 sizes": long_sizes,
    "ZIP64 sizes that are not needed": repeated_sizes, "ZIP64 offset": long_offset, "folders and times": with_folders,
    "another order": reordered, "names in Unicode": with_names("example_project/größe.py", "example_project/Größe.txt"),
    "executable": both(attributes=(stat.S_IFREG | 0o755) << 16),
}  # fmt: skip
BEHIND, BEFORE = "bytes follow the archive's end, or are its comment", "there is data before the archive"
HIDDEN = r"a member \S+__init__.py that is not in its directory: some installers unpack it"
OTHERWISE = rf"{INIT}: its local header and the directory do not agree"
UNREADABLE = f"{INIT}: it cannot be read"
KIND = f"{INIT}: it is marked as a link, or as another kind of file than its name says"
WINDOWS = "cannot be a file on Windows, or names another file there"
#: How an archive is damaged, and what ``verify`` says.
ARCHIVE_DAMAGES = {
    "data in front": (prefixed, BEFORE),
    "data in front, counted": (padded, "10 bytes at 0 of the archive belong to no member"),
    "data behind": (lambda archive: setattr(archive, "behind", b"more"), f"4 {BEHIND}"),
    "comment": (with_comment, f"5 {BEHIND}"),
    "comment announced": (commented_end, f"0 {BEHIND}"),
    "another archive in front": (concatenate, r"a member \S+ that is not in its directory"),
    "member not in the directory": (hide_a_member, HIDDEN),
    "member of two contents": (add_a_hidden_member, HIDDEN),
    "bytes between members": (junk_between, "4 bytes at [0-9]+ of the archive belong to no member"),
    "bytes before the directory": (junk_before_the_directory, "4 bytes at [0-9]+ of the archive belong to no member"),
    "two rows for one header": (share_a_header, f"{INIT} shares bytes of the archive with another member"),
    "row that leads nowhere": (lead_nowhere, f"{INIT}: there is no local header where the directory says"),
    "file that the directory says is empty": (empty_it, f"{OTHERWISE}: crc, size"),
    "other name": (other(name=INIT.replace("init", "INIT").encode()), f"{OTHERWISE}: name"),
    "other flags": (other(flags=2), f"{OTHERWISE}: flags"),
    "other method": (other(method=0), f"{OTHERWISE}: method"),
    "other time": (other(time=1), f"{OTHERWISE}: time"),
    "other date": (other(date=34), f"{OTHERWISE}: date"),
    "other check sum": (other(crc=1), f"{OTHERWISE}: crc"),
    "other size": (other(size=1), f"{OTHERWISE}: size"),
    "other packed size": (other(packed=1), f"{OTHERWISE}: packed"),
    "wrong check sum": (both(crc=1), UNREADABLE),
    "wrong size": (both(size=1), UNREADABLE),
    "slack in deflated data": (add_slack, f"{INIT}: its data does not end where the directory says"),
    "stored data of another size": (store_it, UNREADABLE),
    "no deflated data": (both(data=b"\xff\xff\xff\xff"), UNREADABLE),
    "sizes behind the data": (both(flags=8), f"{INIT}: its size follows its data, which PyPI refuses"),
    "encrypted": (both(flags=1), f"{INIT}: it is encrypted, or neither stored nor deflated"),
    "packed otherwise": (both(method=12), f"{INIT}: it is encrypted, or neither stored nor deflated"),
    "newer than ZIP64": (both(needed=46), f"{INIT}: it is encrypted, or neither stored nor deflated"),
    "comment of a member": (both(comment=b"x"), f"{INIT}: it has a comment, or is of another part"),
    "member of another part": (both(disk=1), f"{INIT}: it has a comment, or is of another part"),
    "second name": (other_name(), f"{INIT}: the directory has a second name for it"),
    "second name in the local header": (other_name(row=False), f"{INIT}: its local header has a second name for it"),
    "extra data cut short": (
        extra(0x5455, b"x", declared=9, row=False), "a record of the archive is damaged: the extra data"
    ),
    "extra data of 3 bytes": (
        lambda archive: setattr(archive[INIT], "local_extra", b"xyz"), "a record of the archive is damaged"
    ),
    "ZIP64 field of other sizes": (extra(1, bytes(16)), "a record of the archive is damaged: a ZIP64 field"),
    "ZIP64 field that is too long": (extra(1, bytes(40)), "a record of the archive is damaged: a ZIP64 field"),
    "ZIP64 field that is missing": (other(size=LONG, packed=LONG), "a record of the archive is damaged: a ZIP64 field"),
    "fewer rows": (end(rows=3, here=3), "its directory has 3 rows, but [0-9]+ are there"),
    "rows on other parts": (end(here=3), "the archive says that it is one of several parts"),
    "another part": (end(disk=1), "the archive says that it is one of several parts"),
    "ZIP64 end elsewhere": (end64(where=0), "the ZIP64 record at the end of the archive is not where the archive says"),
    "ZIP64 end of more rows": (end64(rows=3), "the records at the end of the archive do not agree"),
    "ZIP64 end of another part": (end64(disk=1), "the records at the end of the archive do not agree"),
    "ZIP64 end with more data": (end64(length=99), "the records at the end of the archive do not agree"),
    "symbolic link": (both(attributes=(stat.S_IFLNK | 0o777) << 16), KIND),
    "device": (both(attributes=(stat.S_IFCHR | 0o600) << 16), KIND),
    "folder by its mode": (both(attributes=(stat.S_IFDIR | 0o755) << 16), KIND),
    "folder by DOS": (both(attributes=0x10), KIND),
    "rights of the owner": (
        both(attributes=(stat.S_IFREG | 0o4755) << 16), f"{INIT}: it is marked to run with the rights of its owner"
    ),
    "folder with data": (lambda archive: archive.add("example_project/more/", b"x"), "it is a folder with data"),
    "decompression bomb": (bomb, "zeros: it unpacks to [0-9,]+ times its size, which PyPI refuses"),
    "name of another case": (with_names("example_project/__Init__.py"), "__Init__.py are the same file on some"),
    "folder of another case": (
        with_names("Example_project/more.py"), "example_project and Example_project are the same folder on some systems"
    ),
    "name composed otherwise": (
        with_names("example_project/\xe9.py", "example_project/e\u0301.py"), "are the same file on some systems"
    ),
    "name with sharp s": (with_names("example_project/ß", "example_project/SS"), "are the same file on some systems"),
    "name with an invisible letter": (
        with_names("example_project/__in\u200bit__.py"), "are the same file on some systems"
    ),
    "name with a dot behind": (with_names(f"{INIT}."), "are the same file on some systems"),
    "name with a space behind": (with_names(f"{INIT} "), WINDOWS),
    "folder with a dot behind": (with_names("example_project./more.py"), WINDOWS),
    "file and folder": (with_names(f"{INIT}/more.py"), f"{INIT} is a file and a folder"),
    "file and folder of a member": (with_names(f"{INIT}/"), f"{INIT} is a file and a folder"),
    **{
        f"name {name}": (with_names(f"example_project/{name}"), WINDOWS)
        for name in ("aux.py", "NUL", "com1.tar.gz", "lpt\xb9", "CONIN$", "con .txt", "a?", 'a"', "a|b", "KERNEL~1.TSV")
    },
    "name with a control character": (with_names("example_project/a\x1b[2J"), "its name has control characters"),
    "name that ends early": (with_names("example_project/a\0b"), "its name has control characters"),
    "name of an old code page": (
        lambda archive: archive.add("example_project/größe.py", flags=0), "not marked as UTF-8"
    ),
    "name of no encoding": (
        lambda archive: archive.add(b"example_project/\xff\xfe.py", flags=0), "not marked as UTF-8"
    ),
    "no name": (lambda archive: archive.add(""), "its name is empty, or not marked as UTF-8"),
}  # fmt: skip
