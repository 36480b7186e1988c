# SPDX-License-Identifier: Apache-2.0
# The kinds of target this tree has. Headers stand beside sources; the
# repository root and the build root are the include roots of everything.

add_compile_options(-Wall -Wextra -Wno-unused-parameter -fno-omit-frame-pointer)
if(INGOT_SANITIZE STREQUAL "thread")
  set(sanitizers -fsanitize=thread)
elseif(INGOT_SANITIZE)
  set(sanitizers -fsanitize=address,undefined)
  add_compile_options(-fno-sanitize=vptr,function)
endif()
if(INGOT_SANITIZE)
  add_compile_options(${sanitizers} -O1)
  add_link_options(${sanitizers})
endif()

include_directories("${CMAKE_SOURCE_DIR}" "${CMAKE_BINARY_DIR}")

# What is compiled for AArch64, by the same compiler.
if(INGOT_AARCH64)
  add_library(ingot_aarch64 INTERFACE)
  # The functions that outline atomics call are in a library of GCC's.
  target_compile_options(ingot_aarch64 INTERFACE ${INGOT_AARCH64_TARGET} -mno-outline-atomics)
  target_link_options(ingot_aarch64 INTERFACE ${INGOT_AARCH64_TARGET})
  target_include_directories(ingot_aarch64 SYSTEM INTERFACE "${INGOT_AARCH64}/usr/include"
                             "${INGOT_AARCH64}/usr/include/aarch64-linux-gnu")
  target_link_libraries(ingot_aarch64 INTERFACE ${INGOT_AARCH64_CODECS} "${INGOT_AARCH64_ZLIB}")
endif()

# ingot_runtime_library(NAME sources... [X86 sources...] [AARCH64 sources...] [LIBS libs...]):
# no LLVM in sight. Where the packages for AArch64 are (tools/setup --aarch64),
# NAME-aarch64 is the same for its trainers. X86 and AARCH64 list what one of
# the two has alone.
function(ingot_runtime_library name)
  cmake_parse_arguments(arg "" "" "X86;AARCH64;LIBS" ${ARGN})
  add_library(${name} STATIC ${arg_UNPARSED_ARGUMENTS} ${arg_X86})
  target_link_libraries(${name} PUBLIC ${arg_LIBS})
  add_dependencies(${name} ingot-abi)
  if(INGOT_AARCH64)
    add_library(${name}-aarch64 STATIC ${arg_UNPARSED_ARGUMENTS} ${arg_AARCH64})
    target_link_libraries(${name}-aarch64 PUBLIC ingot_aarch64)
    foreach(lib IN LISTS arg_LIBS)
      if(TARGET ${lib}-aarch64)
        target_link_libraries(${name}-aarch64 PUBLIC ${lib}-aarch64)
      elseif(NOT lib MATCHES "^ZLIB::|^/")
        target_link_libraries(${name}-aarch64 PUBLIC ${lib})
      endif()
    endforeach()
    add_dependencies(${name}-aarch64 ingot-abi)
  endif()
endfunction()

# ingot_precompile(NAME headers...): the C++ library's common headers, and others,
# are read once for NAME and NAME-aarch64: they take a third of a unit's time.
# Sources with options of their own need SKIP_PRECOMPILE_HEADERS.
function(ingot_precompile name)
  foreach(target ${name} ${name}-aarch64)
    if(TARGET ${target})
      target_precompile_headers(${target} PRIVATE <algorithm> <atomic> <chrono> <cmath> <condition_variable> <cstring>
        <deque> <filesystem> <functional> <map> <memory> <mutex> <optional> <set> <span> <string> <string_view>
        <thread> <unordered_map> <variant> <vector> ${ARGN})
      # The header is the same bytes every time, so that ccache knows it. What
      # the library itself uses of its deprecated parts is no longer known to be its own.
      target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp" -Wno-deprecated-declarations)
    endif()
  endforeach()
endfunction()

# LLVM and MLIR: shared libraries, but for programs with the property
# INGOT_STATIC_LLVM, which have in them what they use of the archives. Those
# start in a third of the time, since the loader resolves 50,000 symbols less,
# and take longer to link: it is for what users and tests start most.
file(GLOB llvm_archives "${LLVM_LIBRARY_DIR}/libMLIR*.a" "${LLVM_LIBRARY_DIR}/libLLVM*.a")
list(FILTER llvm_archives EXCLUDE REGEX "CAPI|MLIRTest|Runner|Main\\.a$")
add_library(ingot_llvm INTERFACE)
if(llvm_archives)
  target_link_libraries(ingot_llvm INTERFACE
    "$<IF:$<BOOL:$<TARGET_PROPERTY:INGOT_STATIC_LLVM>>,${llvm_archives};ZLIB::ZLIB;${INGOT_libzstd},MLIR;LLVM>")
else()
  target_link_libraries(ingot_llvm INTERFACE MLIR LLVM)
endif()

# ingot_compiler_library(NAME sources... [LIBS libs...] [DEPENDS tablegen targets...])
function(ingot_compiler_library name)
  cmake_parse_arguments(arg "" "" "LIBS;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${arg_UNPARSED_ARGUMENTS})
  target_include_directories(${name} SYSTEM PUBLIC ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
  target_compile_definitions(${name} PUBLIC ${LLVM_DEFINITIONS_LIST})
  target_link_libraries(${name} PUBLIC ${arg_LIBS} ingot_llvm)
  target_precompile_headers(${name} REUSE_FROM ingot_pch)
  target_compile_options(${name} PRIVATE ${ingot_pch_options})
  add_dependencies(${name} ingot-abi ${arg_DEPENDS})
endfunction()

# ingot_compiler_program(NAME [STATIC_LLVM] sources... LIBS libs...): a tool or a test.
function(ingot_compiler_program name)
  cmake_parse_arguments(arg "STATIC_LLVM" "" "LIBS" ${ARGN})
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  target_include_directories(${name} SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
  target_compile_definitions(${name} PRIVATE ${LLVM_DEFINITIONS_LIST})
  target_link_libraries(${name} PRIVATE ${arg_LIBS} ingot_llvm)
  if(arg_STATIC_LLVM AND NOT INGOT_SANITIZE)
    set_target_properties(${name} PROPERTIES INGOT_STATIC_LLVM ON)
    target_link_options(${name} PRIVATE LINKER:--gc-sections)
  endif()
  target_precompile_headers(${name} REUSE_FROM ingot_pch)
  target_compile_options(${name} PRIVATE ${ingot_pch_options})
  add_dependencies(${name} ingot-abi)
endfunction()

# ingot_tablegen(SOURCE "OUTPUT=GENERATOR"...): generated files for the next
# add_public_tablegen_target.
function(ingot_tablegen source)
  set(LLVM_TARGET_DEFINITIONS "${source}")
  foreach(pair IN LISTS ARGN)
    string(REPLACE "=" ";" pair "${pair}")
    list(POP_FRONT pair output)
    mlir_tablegen("${output}" ${pair} "-I${CMAKE_SOURCE_DIR}" EXTRA_INCLUDES ${MLIR_INCLUDE_DIRS})
  endforeach()
  set(TABLEGEN_OUTPUT ${TABLEGEN_OUTPUT} PARENT_SCOPE)
endfunction()

separate_arguments(LLVM_DEFINITIONS_LIST NATIVE_COMMAND "${LLVM_DEFINITIONS}")
list(TRANSFORM LLVM_DEFINITIONS_LIST REPLACE "^-D" "")

# One precompiled header for everything that includes MLIR: MLIR's headers and
# the ops of Ingot take half of the time that a unit needs. All that use it are
# compiled with the same options:
#   -O2                 -O3 takes a third longer, and LLVM itself has -O2
#   -fPIC               programs would have -fPIE
#   -fno-pch-timestamp  the header is the same bytes every time, so that ccache
#                       knows it
set(ingot_pch_options $<$<CONFIG:Release>:-O2> -fPIC "SHELL:-Xclang -fno-pch-timestamp")
file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/pch.cpp" CONTENT "")
add_library(ingot_pch STATIC "${CMAKE_BINARY_DIR}/pch.cpp")
target_include_directories(ingot_pch SYSTEM PUBLIC ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
target_compile_definitions(ingot_pch PUBLIC ${LLVM_DEFINITIONS_LIST})
target_compile_options(ingot_pch PRIVATE ${ingot_pch_options})
target_precompile_headers(ingot_pch PRIVATE
  <dialects/ingot/ir/Dialect.h>
  <mlir/Dialect/Arith/IR/Arith.h> <mlir/Dialect/Func/IR/FuncOps.h> <mlir/Dialect/MemRef/IR/MemRef.h>
  <mlir/Dialect/SCF/IR/SCF.h> <mlir/IR/Builders.h> <mlir/IR/BuiltinOps.h> <mlir/IR/Matchers.h>
  <mlir/IR/PatternMatch.h> <mlir/Interfaces/SideEffectInterfaces.h> <mlir/Pass/Pass.h>)
add_dependencies(ingot_pch ingot-abi IngotOpsIncGen)
