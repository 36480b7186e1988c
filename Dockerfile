# What Ingot is built in: Debian 12 with everything that tools/setup installs.
#
#   docker build -t ingot .
#   docker run --rm -it -v "$PWD:/ingot" ingot tools/check
FROM debian:12-slim

ENV INGOT_DEPS=/opt/ingot/deps
COPY tools/setup tools/versions.env /opt/ingot/tools/
COPY tools/lock /opt/ingot/tools/lock
COPY tools/scripts/wheel_parts.py tools/scripts/download_debian.sh /opt/ingot/tools/scripts/

# clangd and clang-tidy are for editors.
RUN apt-get update \
  && apt-get install -y --no-install-recommends ca-certificates \
  && /opt/ingot/tools/setup \
  && . /opt/ingot/tools/versions.env \
  && apt-get install -y --no-install-recommends "clang-tidy-$LLVM_VERSION" "clangd-$LLVM_VERSION" \
  && ln -s "clangd-$LLVM_VERSION" /usr/bin/clangd \
  && rm -rf /root/.cache /var/lib/apt/lists/*

ENV PATH=/opt/ingot/deps/python/bin:$PATH
# The tree belongs to the user outside.
RUN git config --system --add safe.directory '*'
WORKDIR /ingot
