# SPDX-License-Identifier: Apache-2.0
"""Archives that are the same bytes whenever and wherever the same files are packed."""

import datetime
import os
import pathlib
import stat
import subprocess
import zipfile


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
    """Compresses a file as one stream: several threads would cut it by their number."""
    with open(path, "rb") as source, open(output, "wb") as file:
        subprocess.run(["xz", "-6", "-T1"], stdin=source, stdout=file, check=True)


def write_tar(output, root, prefix):
    """A tar of the settled `root` under the name `prefix`."""
    tree = pathlib.Path(f"{output}.tmp")
    command = ["tar", "--sort=name", "--format=gnu", "--owner=root:0", "--group=root:0", "--numeric-owner"]
    command += [f"--transform=flags=rSh;s,^\\.,{prefix},", "-C", root, "-cf", tree, "."]
    subprocess.run(command, check=True)
    compress(tree, output)
    tree.unlink()


def write_deb(output, tree, fields, time):
    """A package of Debian of the settled `tree`, with the fields of `control`. The tree keeps them."""
    size = sum(path.stat().st_size for path in tree.rglob("*") if path.is_file())
    lines = [f"{key}: {value}\n" for key, value in {**fields, "Installed-Size": size // 1024 + 1}.items()]
    (tree / "DEBIAN").mkdir()
    (tree / "DEBIAN/control").write_text("".join(lines))
    settle(tree, time)
    command = ["dpkg-deb", "--root-owner-group", "-Zxz", "-z6", "--threads-max=1", "--build", tree, output]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(time)}
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)


def write_zip(output, members, time):
    """`members` are pairs of a name and a path, or bytes."""
    date = datetime.datetime.fromtimestamp(time, datetime.UTC).timetuple()[:6]
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in members:
            info = zipfile.ZipInfo(name, date)
            info.compress_type = zipfile.ZIP_DEFLATED
            mode = 0o644 if isinstance(content, bytes) else stat.S_IMODE(content.stat().st_mode)
            info.external_attr = (stat.S_IFREG | mode) << 16
            archive.writestr(info, content if isinstance(content, bytes) else content.read_bytes())
