# SPDX-License-Identifier: Apache-2.0
# Trainers, the libraries that travel with them, and the programs that users
# start run with the C library of 2018 (glibc 2.28). They are linked against stubs
# that have its symbols, and by a start file of their own (runtime/link).

set(INGOT_C_LIBRARY libc.so.6 libm.so.6 libpthread.so.0 libdl.so.2 librt.so.1)

# ingot_add_c_library(PROCESSOR EMULATION LOADER): the target ingot_c_library, or
# ingot_c_library-aarch64, makes the stubs and the start file in lib/ingot.
# A sanitized build links trainers against this machine's, which its runtime asks for.
function(ingot_add_c_library processor emulation loader)
  if(INGOT_SANITIZE)
    return()
  endif()
  set(dir "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/ingot")
  set(suffix "")
  if("${processor}" STREQUAL "aarch64")
    string(APPEND dir "/aarch64")
    set(suffix -aarch64)
  endif()
  set(dir "${dir}/crt")
  set(stubs ${INGOT_C_LIBRARY} ${loader})
  list(TRANSFORM stubs PREPEND "${dir}/")
  set(sources "${PROJECT_SOURCE_DIR}/runtime/link")
  set(script "${PROJECT_SOURCE_DIR}/tools/scripts/make_stubs.py")
  set(table "${sources}/glibc-${processor}.txt")
  set(triple ${processor}-linux-gnu)
  add_custom_command(OUTPUT ${stubs} DEPENDS "${script}" "${table}" VERBATIM
    COMMAND "${INGOT_PYTHON}" "${script}" --table "${table}" --output "${dir}" --emulation ${emulation}
            --target ${triple} --clang "${CMAKE_C_COMPILER}" --linker "${LLVM_TOOLS_BINARY_DIR}/ld.lld")
  add_custom_command(OUTPUT "${dir}/Start.o" DEPENDS "${sources}/Start.S" VERBATIM
    COMMAND "${CMAKE_C_COMPILER}" --target=${triple} -c "${sources}/Start.S" -o "${dir}/Start.o")
  add_custom_target(ingot_c_library${suffix} DEPENDS ${stubs} "${dir}/Start.o")
endfunction()

# ingot_link_c_library(TARGET ARCHIVES names... STUBS names... END names...): links
# TARGET to archives and end files that the compiler driver finds, and to stubs.
# The stubs are options of the linker: CMake would give a library that is not built
# yet as -l, and the linker would find the machine's.
function(ingot_link_c_library target)
  cmake_parse_arguments(arg "" "" "ARCHIVES;STUBS;END" ${ARGN})
  set(dir "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/ingot/crt")
  foreach(kind ARCHIVES END)
    set(${kind} "")
    foreach(name IN LISTS arg_${kind})
      execute_process(COMMAND "${CMAKE_CXX_COMPILER}" "-print-file-name=${name}"
                      OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE)
      list(APPEND ${kind} "${found}")
    endforeach()
  endforeach()
  set(stubs ${arg_STUBS})
  list(TRANSFORM stubs PREPEND "${dir}/")
  add_dependencies(${target} ingot_c_library)
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${stubs})
  # The stubs' folder is none to load libraries from.
  set_target_properties(${target} PROPERTIES SKIP_BUILD_RPATH ON)
  list(TRANSFORM stubs PREPEND "-Wl,")
  target_link_options(${target} PRIVATE -nodefaultlibs -Wl,--as-needed)
  target_link_libraries(${target} PRIVATE ingot_compatibility ${ARCHIVES} ${stubs} ${END})
endfunction()

# ingot_link_portably(TARGET): a shared library that trainers load. The trainer
# has what it calls of the C++ library, but keeps the compiler's own functions,
# such as divisions of 128 bits, to itself.
function(ingot_link_portably target)
  if(INGOT_SANITIZE)
    return()
  endif()
  target_link_options(${target} PRIVATE -Wl,--exclude-libs,ALL $<$<CONFIG:Release>:-Wl,--strip-all>)
  ingot_link_c_library(${target} ARCHIVES libgcc_eh.a libgcc.a libc_nonshared.a
    STUBS ${INGOT_C_LIBRARY})
endfunction()

# ingot_link_program_portably(TARGET): a program that users start. It has the C++
# library in it, and needs the C library alone.
function(ingot_link_program_portably target)
  if(INGOT_SANITIZE)
    return()
  endif()
  set(start "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/ingot/crt/Start.o")
  foreach(name crti.o crtbeginS.o)
    execute_process(COMMAND "${CMAKE_CXX_COMPILER}" "-print-file-name=${name}"
                    OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE)
    list(APPEND start "${found}")
  endforeach()
  target_link_options(${target} PRIVATE -pie -nostartfiles -Wl,--gc-sections -Wl,-O2
    $<$<CONFIG:Release>:-Wl,--strip-all> ${start})
  ingot_link_c_library(${target} ARCHIVES libstdc++.a libgcc_eh.a libgcc.a
    STUBS ${INGOT_C_LIBRARY} ld-linux-x86-64.so.2 END libc_nonshared.a crtendS.o crtn.o)
endfunction()
