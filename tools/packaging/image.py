# SPDX-License-Identifier: Apache-2.0
"""An image for `docker load` and `podman load`: Debian's essential packages, and the package of Debian on top."""

import hashlib
import io
import json
import os
import pathlib
import subprocess
import tarfile
import tempfile

import archives


def write(output, deb, suite, version, time):
    with tempfile.TemporaryDirectory() as scratch:
        layer = pathlib.Path(scratch, "layer.tar")
        command = ["mmdebstrap", "--quiet", "--mode=root", "--variant=essential", suite, layer]
        command += [f"--customize-hook=copy-in {deb} /tmp", f'--customize-hook=chroot "$1" dpkg -i /tmp/{deb.name}']
        command += [f'--customize-hook=rm "$1/tmp/{deb.name}"']
        subprocess.run(
            command, env={**os.environ, "SOURCE_DATE_EPOCH": str(time)}, check=True, stdout=subprocess.DEVNULL
        )
        digest = hashlib.sha256(layer.read_bytes()).hexdigest()
        config = json.dumps(
            {
                "architecture": "amd64",
                "os": "linux",
                "config": {"Entrypoint": ["ingotc"], "WorkingDir": "/work", "Env": ["PATH=/usr/bin:/bin"]},
                "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
            }
        ).encode()
        name = hashlib.sha256(config).hexdigest()
        manifest = [{"Config": f"{name}.json", "RepoTags": [f"ingot:{version}"], "Layers": ["layer.tar"]}]
        members = [(f"{name}.json", config), ("manifest.json", json.dumps(manifest).encode())]
        tree = pathlib.Path(scratch, "image.tar")
        with tarfile.open(tree, "w", format=tarfile.GNU_FORMAT) as tar:
            for member, content in [*members, ("layer.tar", layer.read_bytes())]:
                info = tarfile.TarInfo(member)
                info.size, info.mtime = len(content), time
                tar.addfile(info, io.BytesIO(content))
        archives.compress(tree, output)
