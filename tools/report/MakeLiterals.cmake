# SPDX-License-Identifier: Apache-2.0
# Writes the files PARTS as literals of C++, a pair of name and text each.
set(text "")
foreach(part IN LISTS PARTS)
  file(READ "${part}" content)
  get_filename_component(name "${part}" NAME)
  string(APPEND text "{\"${name}\", R\"PAGE(${content})PAGE\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "${text}")
