# SPDX-License-Identifier: Apache-2.0
ninja -k 0 -C build/release > /tmp/b7.log 2>&1
ctest --test-dir build/release -j 2 --output-on-failure > /tmp/ctest1.log 2>&1
