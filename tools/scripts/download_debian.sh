#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Downloads packages of Debian into a folder with apt's lists and checks, but
# without installing them, and without root.
#
#   download_debian.sh FOLDER NAME:ARCHITECTURE...
set -euo pipefail

folder=$1
shift
mkdir -p "$folder"/{lists,archives}/partial
cd "$folder"
apt=(apt-get -qq -o "Dir::State::lists=$PWD/lists" -o "Dir::Cache::archives=$PWD/archives" -o APT::Sandbox::User=root
  -o APT::Architectures::=amd64 -o APT::Architectures::=arm64)
"${apt[@]}" update
"${apt[@]}" download "$@"
