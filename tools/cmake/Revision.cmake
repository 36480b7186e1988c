# SPDX-License-Identifier: Apache-2.0
# Writes OUTPUT, a header that says which sources a program is built from:
# INGOT_REVISION   the commit, and whether files differ from it
# INGOT_DIALECT    a digest of the ops of the dialect, as they are declared
# Run at every build: cmake -DSOURCE=... -DOUTPUT=... -P Revision.cmake. The file
# is left alone unless it changes.

# Of packages of sources, which have no commit, the environment may say it.
set(revision "$ENV{INGOT_REVISION}")
if(revision STREQUAL "")
  execute_process(COMMAND git -C "${SOURCE}" describe --always --abbrev=12 --dirty --exclude=*
                  OUTPUT_VARIABLE revision ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
if(revision STREQUAL "")
  set(revision unknown)
endif()
file(GLOB_RECURSE tables "${SOURCE}/dialects/ingot/*.td")
list(SORT tables)
set(text "")
foreach(table IN LISTS tables)
  file(SHA256 "${table}" digest)
  string(APPEND text "${digest}\n")
endforeach()
string(SHA256 dialect "${text}")
string(SUBSTRING "${dialect}" 0 12 dialect)
file(CONFIGURE OUTPUT "${OUTPUT}" CONTENT
  "#define INGOT_REVISION \"${revision}\"\n#define INGOT_DIALECT \"${dialect}\"\n")
