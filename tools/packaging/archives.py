# SPDX-License-Identifier: Apache-2.0
"""Archives that are the same bytes whenever and wherever the same files are packed."""

import concurrent.futures
import datetime
import os
import pathlib
import stat
import struct
import subprocess
import tempfile
import zlib

import deflate


def commit_time(root):
    """The time of everything in a package: SOURCE_DATE_EPOCH, or that of the commit."""
    if "SOURCE_DATE_EPOCH" in os.environ:
        return int(os.environ["SOURCE_DATE_EPOCH"])
    shown = subprocess.run(["git", "-C", root, "log", "-1", "--format=%ct"], capture_output=True, text=True, check=True)
    return int(shown.stdout)


def settle(root, time):
    """Gives everything under `root` the time, and modes that do not depend on the mask of who builds."""
    for path in [*pathlib.Path(root).rglob("*"), pathlib.Path(root)]:
        path.chmod(0o755 if path.is_dir() or path.stat().st_mode & stat.S_IXUSR else 0o644)
        os.utime(path, (time, time))


def compress(path, output):
    """Compresses a file in blocks of one size, on several processors: their number leaves no trace."""
    with open(path, "rb") as source, open(output, "wb") as file:
        subprocess.run(["xz", "-6", "-T4", "--block-size=24MiB"], stdin=source, stdout=file, check=True)


def pack_tree(output, root, prefix):
    """A tar of the settled `root` under the name `prefix`, compressed."""
    tree = pathlib.Path(f"{output}.tmp")
    command = ["tar", "--sort=name", "--format=gnu", "--owner=root:0", "--group=root:0", "--numeric-owner"]
    command += [f"--transform=flags=rSh;s,^\\.,{prefix},", "-C", root, "-cf", tree, "."]
    subprocess.run(command, check=True)
    compress(tree, output)
    tree.unlink()


def write_ar(output, paths, time):
    """An archive of ar, as packages of Debian are."""
    with open(output, "wb") as file:
        file.write(b"!<arch>\n")
        for path in paths:
            content = path.read_bytes()
            file.write(f"{path.name:16}{time:<12}0     0     100644  {len(content):<10}`\n".encode())
            file.write(content + b"\n" * (len(content) % 2))


def write_deb(output, tree, fields, time):
    """A package of Debian of the settled `tree`, with the fields of `control`."""
    size = sum(path.stat().st_size for path in tree.rglob("*") if path.is_file())
    lines = [f"{key}: {value}\n" for key, value in {**fields, "Installed-Size": size // 1024 + 1}.items()]
    with tempfile.TemporaryDirectory(dir=output.parent) as scratch:
        parts = [pathlib.Path(scratch, name) for name in ("debian-binary", "control.tar.xz", "data.tar.xz")]
        parts[0].write_text("2.0\n")
        control = pathlib.Path(scratch, "control")
        control.mkdir()
        (control / "control").write_text("".join(lines))
        for folder in (control, tree):
            settle(folder, time)
        pack_tree(parts[1], control, ".")
        pack_tree(parts[2], tree, ".")
        write_ar(output, parts, time)


def write_zip(output, members, time):
    """`members` are pairs of a name and a path, or bytes. Names are ASCII."""
    moment = datetime.datetime.fromtimestamp(time, datetime.UTC)
    date = (moment.year - 1980) << 25 | moment.month << 21 | moment.day << 16
    date |= moment.hour << 11 | moment.minute << 5 | moment.second // 2
    contents = [content if isinstance(content, bytes) else content.read_bytes() for _, content in members]
    with concurrent.futures.ThreadPoolExecutor() as pool, open(output, "wb") as file:
        entries = b""
        packed = pool.map(deflate.compress, contents)
        for (name, source), content, stream in zip(members, contents, packed, strict=True):
            mode = 0o644 if isinstance(source, bytes) else stat.S_IMODE(source.stat().st_mode)
            # Version 2.0, no flags, DEFLATE; the last is the length of an extra field.
            what = struct.pack(
                "<HHHIIIIHH", 20, 0, 8, date, zlib.crc32(content), len(stream), len(content), len(name), 0
            )
            # Made on Unix; no comment, disk 0, no attributes of DOS.
            entries += b"PK\x01\x02" + struct.pack("<H", 3 << 8 | 20) + what
            entries += struct.pack("<HHHII", 0, 0, 0, (stat.S_IFREG | mode) << 16, file.tell()) + name.encode()
            file.write(b"PK\x03\x04" + what + name.encode() + stream)
        end = struct.pack("<HHHHIIH", 0, 0, len(members), len(members), len(entries), file.tell(), 0)
        file.write(entries + b"PK\x05\x06" + end)
