# SPDX-License-Identifier: Apache-2.0
# Trainers, and the libraries that travel with them, run with the C library of
# 2018 (glibc 2.28): they are linked against stubs that have its symbols, by a
# start file of their own (runtime/link).

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

# ingot_link_portably(TARGET): a shared library that trainers load. The trainer
# has what it calls of the C++ library.
function(ingot_link_portably target)
  if(INGOT_SANITIZE)
    return()
  endif()
  set(dir "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/ingot/crt")
  set(stubs ${INGOT_C_LIBRARY})
  list(TRANSFORM stubs PREPEND "${dir}/")
  add_dependencies(${target} ingot_c_library)
  # The stubs' folder is none to load libraries from.
  set_target_properties(${target} PROPERTIES SKIP_BUILD_RPATH ON)
  foreach(name libgcc_eh.a libc_nonshared.a)
    execute_process(COMMAND "${CMAKE_CXX_COMPILER}" "-print-file-name=${name}"
                    OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE)
    list(APPEND archives "${found}")
  endforeach()
  target_link_options(${target} PRIVATE -nodefaultlibs -Wl,--exclude-libs,ALL -Wl,--as-needed)
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${stubs})
  # As options: CMake would name a library that is not built yet by -l, and the
  # linker would find the machine's.
  list(TRANSFORM stubs PREPEND "-Wl,")
  target_link_libraries(${target} PRIVATE ingot_compatibility ${archives} ${stubs})
endfunction()
