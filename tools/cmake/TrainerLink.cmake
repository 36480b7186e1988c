# SPDX-License-Identifier: Apache-2.0
# What ingotc links trainers from, gathered in lib/ingot of the build tree so
# that no compiler is needed on the user's machine and the tree can be moved:
# link-TARGET.txt there lists it, one "KIND PATH" per line in link order, paths
# relative to that file. Kinds:
#   emulation    the linker's name of the architecture
#   loader       the dynamic loader on the machine that the trainer runs on
#   entry        the C runtime start file of programs
#   start, end   C runtime start files; the compiled step goes after the first
#   option       an argument for the linker
#   whole        static libraries; take everything
#   archive      static libraries; take what is referenced
#   embed        static libraries that libraries (--emit lib) have in place of a
#                main function; take everything
#   header       headers of such libraries, which are written beside them
#   inside       static libraries that libraries have in place of the bundle; take
#                what is referenced
#   bundle       shared libraries that travel with the trainer (TRAINER.libs)
#   transport    shared libraries that travel with data parallel trainers, which
#                load them and have what they call of the C++ library
#   system       stubs of the shared libraries that every machine has
# ingot_trainer_link(TARGET archives... [EMBED target] [INSIDE targets...]
#                    BUNDLE shared libraries... TRANSPORT targets... [AARCH64])
# With AARCH64 it is lib/ingot/aarch64, and libraries are those of AArch64. An
# archive is a target of ours; a shared library of the bundle is one, a path, or
# a name that the compiler driver finds.
function(ingot_trainer_link target)
  cmake_parse_arguments(arg "AARCH64" "EMBED" "INSIDE;BUNDLE;TRANSPORT" ${ARGN})
  set(dir "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/ingot")
  set(text "# KIND PATH, in link order; paths are relative to this file.\n")
  if(arg_AARCH64)
    string(APPEND dir "/aarch64")
    set(driver ${INGOT_AARCH64_TARGET})
    set(name ${target}-aarch64)
    set(loader ld-linux-aarch64.so.1)
    set(zlib "${INGOT_AARCH64_ZLIB}")
    set(codecs ${INGOT_AARCH64_CODECS})
    set(suffix -aarch64)
    string(APPEND text "emulation aarch64linux\nloader /lib/${loader}\n")
  else()
    set(driver "")
    set(name ${target})
    set(loader ld-linux-x86-64.so.2)
    set(zlib libz.a)
    set(codecs ${INGOT_CODECS})
    set(suffix "")
    string(APPEND text "emulation elf_x86_64\nloader /lib64/${loader}\n")
  endif()
  set(trainer ingot_trainer_${name})
  set(copies "")

  # Copies FILE, a path or a name that the compiler driver finds, to DIR/SUB.
  macro(add kind name sub)
    if(TARGET "${name}")
      set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${dir}/${sub}")
      list(APPEND copies ${name})
      string(APPEND text "${kind} ${sub}/lib${name}.so\n")
    else()
      add_file(${kind} ${name} ${sub})
    endif()
  endmacro()
  macro(add_file kind name sub)
    if(IS_ABSOLUTE "${name}")
      set(found "${name}")
    else()
      execute_process(COMMAND "${CMAKE_CXX_COMPILER}" ${driver} "-print-file-name=${name}"
                      OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE)
    endif()
    if(NOT EXISTS "${found}")
      message(FATAL_ERROR "error: ${name} not found\nhint: run tools/setup")
    endif()
    get_filename_component(base "${name}" NAME)
    file(REAL_PATH "${found}" real)
    # Targets have files in common.
    get_property(known GLOBAL PROPERTY ingot_trainer_copies)
    if(NOT "${dir}/${sub}/${base}" IN_LIST known)
      set_property(GLOBAL APPEND PROPERTY ingot_trainer_copies "${dir}/${sub}/${base}")
      list(APPEND copies "${dir}/${sub}/${base}")
      set(trim "")
      if(base STREQUAL "libgcc.a")
        # Decimal floating point, which C++ has no type for, is three quarters of it.
        set(ar "${LLVM_TOOLS_BINARY_DIR}/llvm-ar")
        set(trim COMMAND sh -c "'${ar}' t '${base}' | grep '^bid' | xargs -r '${ar}' dD '${base}'")
      endif()
      add_custom_command(OUTPUT "${dir}/${sub}/${base}" WORKING_DIRECTORY "${dir}/${sub}"
        COMMAND "${CMAKE_COMMAND}" -E copy "${real}" "${dir}/${sub}/${base}" ${trim} DEPENDS "${real}" VERBATIM)
    endif()
    string(APPEND text "${kind} ${sub}/${base}\n")
  endmacro()

  if(INGOT_SANITIZE)
    add(entry Scrt1.o crt)
  else()
    string(APPEND text "entry crt/Start.o\n")
    list(APPEND copies ingot_c_library${suffix})
  endif()
  foreach(name crti.o crtbeginS.o)
    add(start ${name} crt)
  endforeach()
  if(INGOT_SANITIZE)
    # The sanitizers' runtime, which the compiler driver would add.
    string(APPEND text "option --export-dynamic\n")
    set(parts asan_static asan asan_cxx)
    if(INGOT_SANITIZE STREQUAL "thread")
      set(parts tsan tsan_cxx)
    endif()
    foreach(part IN LISTS parts)
      add(whole libclang_rt.${part}-${CMAKE_SYSTEM_PROCESSOR}.a crt)
    endforeach()
  endif()
  if(arg_EMBED)
    set_target_properties(${arg_EMBED} PROPERTIES ARCHIVE_OUTPUT_DIRECTORY "${dir}")
    string(APPEND text "embed lib${arg_EMBED}.a\n")
    list(APPEND copies ${arg_EMBED})
    foreach(header ingot.h ingot.hpp)
      add(header "${PROJECT_SOURCE_DIR}/runtime/embed/include/${header}" include)
    endforeach()
  endif()
  # Those inside come first: they are a device in place of the CPU.
  foreach(archive IN LISTS arg_INSIDE arg_UNPARSED_ARGUMENTS)
    set(kind archive)
    if(archive IN_LIST arg_INSIDE)
      set(kind inside)
    endif()
    set_target_properties(${archive} PROPERTIES ARCHIVE_OUTPUT_DIRECTORY "${dir}")
    string(APPEND text "${kind} lib${archive}.a\n")
    list(APPEND copies ${archive})
  endforeach()
  foreach(codec IN LISTS codecs)
    add(archive "${codec}" crt)
  endforeach()
  add(archive "${zlib}" crt)
  foreach(library IN LISTS arg_BUNDLE)
    add(bundle ${library} libs)
  endforeach()
  if(INGOT_SANITIZE)
    foreach(name libstdc++.so.6 libgcc_s.so.1)
      add(bundle ${name} libs)
    endforeach()
  else()
    foreach(name libstdc++.a libgcc_eh.a libgcc.a)
      add(archive ${name} crt)
    endforeach()
  endif()
  foreach(target IN LISTS arg_TRANSPORT)
    set_target_properties(${target} PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${dir}/libs")
    string(APPEND text "transport libs/lib${target}.so\n")
  endforeach()
  if(INGOT_SANITIZE)
    # The sanitizers' runtime asks for the C library of this machine.
    foreach(name libm.so.6 libc.so.6 ${loader})
      add(system ${name} crt)
    endforeach()
  else()
    foreach(name IN LISTS INGOT_C_LIBRARY ITEMS ${loader})
      string(APPEND text "system crt/${name}\n")
    endforeach()
  endif()
  add(archive libc_nonshared.a crt)
  foreach(name crtendS.o crtn.o)
    add(end ${name} crt)
  endforeach()
  file(GENERATE OUTPUT "${dir}/link-${target}.txt" CONTENT "${text}")
  if(NOT TARGET ingot_trainer_files)
    add_custom_target(ingot_trainer_files ALL)
  endif()
  add_custom_target(${trainer} DEPENDS ${copies} ${arg_TRANSPORT})
  add_dependencies(ingot_trainer_files ${trainer})
endfunction()
