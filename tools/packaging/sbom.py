# SPDX-License-Identifier: Apache-2.0
"""The list of materials of a package (SPDX 2.3, JSON): what docs/third-party.md says is in trainers and compiler, with
the versions that this build had."""

import datetime
import hashlib
import json
import re
import subprocess

ROW = re.compile(r"^\| (?P<name>[^|]+?) \| (?P<how>[^|]+?) \| `(?P<source>[^`]+)` \| (?P<licence>[^|]+?) \|$", re.M)


def version_of(source, pins):
    """The version of a package of Debian, or of a line of tools/versions.env."""
    if source in pins:
        return pins[source], f"pkg:pypi/{source.removesuffix('_VERSION').lower().replace('_', '-')}"
    command = ["dpkg-query", "-W", "-f=${Version}", source]
    shown = subprocess.run(command, capture_output=True, text=True, check=True)
    return shown.stdout, f"pkg:deb/debian/{source}"


def describe(root, stage, version, time):
    """Returns the text for what is installed under `stage`."""
    pins = dict(re.findall(r"^([A-Z_]+)=(.+)$", (root / "tools/versions.env").read_text(), re.M))
    packages = [
        {
            "SPDXID": "SPDXRef-Package-ingot",
            "name": "ingot",
            "versionInfo": version,
            "downloadLocation": "NOASSERTION",
            "licenseConcluded": "Apache-2.0",
            "licenseDeclared": "Apache-2.0",
            "filesAnalyzed": False,
        }
    ]
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-Package-ingot")]
    for row in ROW.finditer((root / "docs/third-party.md").read_text()):
        number, url = version_of(row["source"], pins)
        name = f"SPDXRef-Package-{re.sub('[^A-Za-z0-9]+', '-', row['name']).strip('-')}"
        packages.append(
            {
                "SPDXID": name,
                "name": row["name"],
                "versionInfo": number,
                "downloadLocation": "NOASSERTION",
                "licenseConcluded": row["licence"],
                "licenseDeclared": row["licence"],
                "comment": row["how"],
                "filesAnalyzed": False,
                "externalRefs": [
                    {
                        "referenceCategory": "PACKAGE-MANAGER",
                        "referenceType": "purl",
                        "referenceLocator": f"{url}@{number}",
                    }
                ],
            }
        )
        relations.append(("SPDXRef-Package-ingot", "CONTAINS", name))
    files = []
    for path in sorted(path for path in stage.rglob("*") if path.is_file()):
        files.append(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(stage)}\n")
    contents = hashlib.sha256("".join(files).encode()).hexdigest()
    document = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"ingot-{version}",
        # Two packages of other contents are two documents.
        "documentNamespace": f"https://spdx.org/spdxdocs/ingot-{version}-{contents}",
        "creationInfo": {
            "created": datetime.datetime.fromtimestamp(time, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": ["Tool: tools/package"],
        },
        "packages": packages,
        "relationships": [
            {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
            for one, kind, other in relations
        ],
    }
    return json.dumps(document, indent=1) + "\n"
