# SPDX-License-Identifier: Apache-2.0
# cmake --install build/release --prefix PREFIX: what users start, what trainers
# are linked from, and a package of CMake that compiles models in other builds
# (find_package(Ingot)). The tree of PREFIX can be moved.
include(CMakePackageConfigHelpers)

set(programs ingotc ingot-data ingot-measure ingot-report ingot-top)
install(TARGETS ${programs} RUNTIME DESTINATION bin)
# All that is installed, for builds of packages alone.
add_custom_target(ingot-package-files DEPENDS ${programs} ingot_trainer_files ingot-manuals)
install(DIRECTORY "${CMAKE_BINARY_DIR}/share/" DESTINATION share)
install(FILES LICENSE README.md CHANGELOG.md docs/third-party.md DESTINATION share/doc/ingot)
install(DIRECTORY docs/examples/digits DESTINATION share/ingot/examples)

# What the lists of TrainerLink.cmake name, and nothing that earlier builds left
# behind.
install(CODE "set(from \"${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/ingot\")")
install(CODE [[
  set(to "${CMAKE_INSTALL_PREFIX}/lib/ingot")
  foreach(folder . aarch64)
    file(GLOB lists "${from}/${folder}/link-*.txt")
    foreach(list IN LISTS lists)
      file(INSTALL "${list}" DESTINATION "${to}/${folder}")
      file(STRINGS "${list}" lines REGEX "^[a-z]+ [^ ]+$")
      foreach(line IN LISTS lines)
        string(REGEX MATCH "^([a-z]+) (.+)$" _ "${line}")
        set(path "${CMAKE_MATCH_2}")
        if(NOT CMAKE_MATCH_1 MATCHES "^(option|emulation|loader)$")
          get_filename_component(place "${to}/${folder}/${path}" DIRECTORY)
          file(INSTALL "${from}/${folder}/${path}" DESTINATION "${place}")
        endif()
      endforeach()
    endforeach()
  endforeach()
]])

configure_package_config_file(tools/cmake/IngotConfig.cmake.in "${CMAKE_BINARY_DIR}/IngotConfig.cmake"
  INSTALL_DESTINATION lib/cmake/Ingot)
write_basic_package_version_file("${CMAKE_BINARY_DIR}/IngotConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/IngotConfig.cmake" "${CMAKE_BINARY_DIR}/IngotConfigVersion.cmake"
  DESTINATION lib/cmake/Ingot)
