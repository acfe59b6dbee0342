# SPDX-License-Identifier: Apache-2.0
# Defines functions for the folders of modules. No list names a module; each module adds itself to one of two libraries:
#
#   penumbra_tables    tables, shaders, engines; needs a compiler only
#   penumbra_dataplane  everything else; needs DPDK
include_guard()

# penumbra_engine(NAME VARIANT template SOURCES ... [GOPT]) adds an engine. For each shader, a file is generated from
# the template to register the shader's variant. A template x.cu.in gives CUDA C++. @NAME@, @HEADER@ and @FUNCTION@ are
# replaced by those of the shader. With GOPT the file can include "@NAME@.gopt.h", the output of the gopt compiler for
# the shader's header (--width any). Without that compiler the engine is left out.
function(penumbra_engine name)
  cmake_parse_arguments(arg "GOPT" "VARIANT" "SOURCES" ${ARGN})
  if(arg_GOPT AND NOT TARGET gopt::gopt)
    message(STATUS "No gopt compiler: the engine ${name} is left out")
    return()
  endif()
  list(TRANSFORM arg_SOURCES PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  target_sources(penumbra_tables PRIVATE ${arg_SOURCES})
  set_property(GLOBAL APPEND PROPERTY PENUMBRA_VARIANTS ${name}|${CMAKE_CURRENT_SOURCE_DIR}/${arg_VARIANT}|${arg_GOPT})
endfunction()

# Runs the gopt compiler on the header of the current shader before `file` is compiled.
macro(penumbra_gopt_header file)
  set(rewritten ${PROJECT_BINARY_DIR}/shaders/${NAME}.gopt.h)
  if(NOT rewritten IN_LIST penumbra_rewritten)
    list(APPEND penumbra_rewritten ${rewritten})
    add_custom_command(
      OUTPUT ${rewritten}
      COMMAND gopt::gopt ${CMAKE_CURRENT_SOURCE_DIR}/${arg_HEADER} -o ${rewritten} --width any --depfile ${rewritten}.d --
              -xc++ -std=c++${CMAKE_CXX_STANDARD} -I${PROJECT_SOURCE_DIR}/include -I${PROJECT_SOURCE_DIR}/src
      DEPENDS ${arg_HEADER} gopt::gopt
      DEPFILE ${rewritten}.d
      VERBATIM
      COMMENT "gopt ${arg_HEADER}")
    add_custom_target(${NAME}_gopt DEPENDS ${rewritten})
    add_dependencies(penumbra_tables ${NAME}_gopt)
  endif()
  set_source_files_properties(${file} TARGET_DIRECTORY penumbra_tables PROPERTIES OBJECT_DEPENDS ${rewritten})
endmacro()

# penumbra_shader(NAME name HEADER x.shader.h FUNCTION f [SOURCES owner.cc ...] [AVX512 x.avx512.h g [feature ...]]
# [LIBRARY x.library.h l] [CUDA x.cuda.h h] [NO_HINTS] [EXCEPT engine ...]) builds a shader for every engine, and the
# owner of its table. The header is also compiled as C11, which checks that it uses the common subset only.
#
# - AVX512 names a header with an equivalent function for cores with AVX-512 (the level x86-64-v4) and the named
#   features, as GCC spells them.
# - LIBRARY names one that calls a library. CPU engines prefer it to the other forms.
# - CUDA names one for the engine `cuda`: all threads of a row call its function.
# - NO_HINTS: the source has no hint for gopt, so the engine `gopt` runs it as it is.
# - EXCEPT names engines that do not run the shader.
function(penumbra_shader)
  cmake_parse_arguments(arg "NO_HINTS" "NAME;HEADER;FUNCTION" "SOURCES;AVX512;LIBRARY;CUDA;EXCEPT" ${ARGN})
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${PROJECT_SOURCE_DIR}/src OUTPUT_VARIABLE folder)
  set(NAME ${arg_NAME})
  set(HEADER ${folder}/${arg_HEADER})
  set(FUNCTION ${arg_FUNCTION})
  set(AVX512_HEADER ${HEADER})
  set(AVX512_FUNCTION nullptr)
  if(arg_AVX512)
    list(POP_FRONT arg_AVX512 AVX512_HEADER AVX512_FUNCTION)
    set(AVX512_HEADER ${folder}/${AVX512_HEADER})
    set(AVX512_FUNCTION &${AVX512_FUNCTION})
  endif()
  set(HAS_FEATURES "true")
  foreach(feature IN LISTS arg_AVX512)
    string(APPEND HAS_FEATURES " && __builtin_cpu_supports(\"${feature}\")")
  endforeach()
  set(LIBRARY_HEADER ${HEADER})
  set(LIBRARY_FUNCTION nullptr)
  if(arg_LIBRARY)
    list(GET arg_LIBRARY 0 LIBRARY_HEADER)
    list(GET arg_LIBRARY 1 LIBRARY_FUNCTION)
    set(LIBRARY_HEADER ${folder}/${LIBRARY_HEADER})
    set(LIBRARY_FUNCTION &${LIBRARY_FUNCTION})
  endif()
  set(CUDA_HEADER ${HEADER})
  set(CUDA_FUNCTION ${FUNCTION})
  if(arg_CUDA)
    list(GET arg_CUDA 0 CUDA_HEADER)
    list(GET arg_CUDA 1 CUDA_FUNCTION)
    set(CUDA_HEADER ${folder}/${CUDA_HEADER})
  endif()
  list(TRANSFORM arg_SOURCES PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  target_sources(penumbra_tables PRIVATE ${arg_SOURCES})
  get_property(variants GLOBAL PROPERTY PENUMBRA_VARIANTS)
  foreach(variant IN LISTS variants)
    string(REPLACE "|" ";" variant ${variant})
    list(GET variant 0 engine)
    list(GET variant 1 template)
    list(GET variant 2 needs_gopt)
    if(engine IN_LIST arg_EXCEPT)
      continue()
    endif()
    if(needs_gopt AND arg_NO_HINTS)
      set(needs_gopt FALSE)
      string(REPLACE variant.cc.in plain_variant.cc.in template ${template})
    endif()
    cmake_path(GET template STEM LAST_ONLY stem)
    cmake_path(GET stem EXTENSION LAST_ONLY extension)
    set(file ${PROJECT_BINARY_DIR}/shaders/${NAME}.${engine}${extension})
    configure_file(${template} ${file} @ONLY)
    if(extension STREQUAL .cu)
      target_sources(penumbra_cuda PRIVATE ${file})
    else()
      target_sources(penumbra_tables PRIVATE ${file})
    endif()
    if(needs_gopt)
      penumbra_gopt_header(${file})
    endif()
  endforeach()
  if(TARGET penumbra_cuda AND NOT cuda-resident IN_LIST arg_EXCEPT)  # an engine whose kernel contains all shaders
    set_property(TARGET penumbra_cuda APPEND PROPERTY PENUMBRA_SHADER_HEADERS ${HEADER})
    set_property(TARGET penumbra_cuda APPEND PROPERTY PENUMBRA_SHADER_FUNCTIONS ${FUNCTION})
    set_property(TARGET penumbra_cuda APPEND PROPERTY PENUMBRA_SHADER_NAMES ${NAME})
  endif()
  set(file ${PROJECT_BINARY_DIR}/shaders/${NAME}.c11.c)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/c11_check.c.in ${file} @ONLY)
  target_sources(penumbra_tables PRIVATE ${file})
endfunction()

# penumbra_sources(x.cc ...) adds sources to penumbra_dataplane, for example those of a function's folder.
function(penumbra_sources)
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ OUTPUT_VARIABLE sources)
  target_sources(penumbra_dataplane PRIVATE ${sources})
endfunction()

# penumbra_address_family(x.h type) registers an address family of the current folder. The templates of
# src/functions/forwarding are instantiated for `type`, which x.h defines.
function(penumbra_address_family header type)
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${PROJECT_SOURCE_DIR}/src OUTPUT_VARIABLE folder)
  set_property(TARGET penumbra_dataplane APPEND PROPERTY PENUMBRA_FAMILY_HEADERS ${folder}/${header})
  set_property(TARGET penumbra_dataplane APPEND PROPERTY PENUMBRA_FAMILIES ${type})
endfunction()

# penumbra_test(NAME x_test.cc ... [SHADERS] [GPU] [THREADS] [LONG] [WITH support.cc ...]) adds a GoogleTest program of
# these files and the sources after WITH:
#
# - SHADERS: needs no DPDK. `make test-gpu` runs its tests on GPU engines, if it has any.
# - GPU: `make test-gpu` runs the whole program too. The program runs alone, because it breaks resources that others
#   use.
# - THREADS: threads share data, so that ThreadSanitizer runs it.
# - LONG: its own code is optimised, because its oracle processes whole tables.
function(penumbra_test name)
  cmake_parse_arguments(arg "SHADERS;GPU;THREADS;LONG" "" "WITH" ${ARGN})
  if(NOT PENUMBRA_TESTS OR (NOT arg_SHADERS AND NOT TARGET Penumbra::dpdk))
    return()
  endif()
  if(arg_SHADERS)
    set(library penumbra_with_tables)
  else()
    set(library penumbra)
  endif()
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS} ${arg_WITH})
  if(arg_LONG)
    target_compile_options(${name} PRIVATE -O1)
  else()
    target_compile_options(${name} PRIVATE ${PENUMBRA_COLD_OPTIMISATION})
  endif()
  if(NOT arg_SHADERS AND NOT arg_LONG)
    penumbra_test_headers(${name})
  endif()
  # GCC 12 wrongly warns about uninitialised members of a std::variant (rib_test.cc).
  target_compile_options(${name} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_libraries(${name} PRIVATE ${library} GTest::gtest_main GTest::gmock)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  add_dependencies(unit_tests ${name})
  set(labels unit)
  if(arg_SHADERS)
    list(APPEND labels shaders)
    add_dependencies(shader_tests ${name})
  endif()
  if(arg_GPU)
    list(APPEND labels gpu)
    add_dependencies(shader_tests ${name})
  endif()
  if(arg_THREADS)
    list(APPEND labels threads)
    add_dependencies(threaded_tests ${name})
  endif()
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${PROJECT_BINARY_DIR})
  set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT 900
                       ENVIRONMENT TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/tsan.supp
                       RUN_SERIAL ${arg_GPU})
endfunction()

# penumbra_test_headers(target) lets the target use the headers of nearly all tests, which are compiled only once.
function(penumbra_test_headers target)
  if(NOT TARGET penumbra_test_headers)
    file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/test_headers.cc CONTENT "")
    add_library(penumbra_test_headers OBJECT ${PROJECT_BINARY_DIR}/test_headers.cc)
    target_link_libraries(penumbra_test_headers PRIVATE penumbra GTest::gtest GTest::gmock)
    target_compile_options(penumbra_test_headers PRIVATE ${PENUMBRA_COLD_OPTIMISATION})
    target_precompile_headers(penumbra_test_headers PRIVATE <rte_config.h> <gmock/gmock.h> <gtest/gtest.h> <fmt/format.h>
                              <nlohmann/json.hpp> <rte_ethdev.h> <filesystem> <thread>)
  endif()
  target_precompile_headers(${target} REUSE_FROM penumbra_test_headers)
endfunction()

# penumbra_fuzzer(x_fuzz.cc CORPUS folder [DICTIONARY file]) adds a libFuzzer program. Only the preset `asan` builds it.
# CTest runs it over its corpus and then for PENUMBRA_FUZZ_SECONDS.
function(penumbra_fuzzer source)
  cmake_parse_arguments(arg "" "CORPUS;DICTIONARY" "" ${ARGN})
  if(NOT PENUMBRA_FUZZ)
    return()
  endif()
  cmake_path(GET source STEM name)
  add_executable(${name} ${source})
  add_dependencies(fuzzers ${name})
  target_link_libraries(${name} PRIVATE penumbra)
  target_compile_options(${name} PRIVATE ${PENUMBRA_COVERAGE})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fuzz)
  set(found ${PROJECT_BINARY_DIR}/fuzz/${name}.found)
  file(MAKE_DIRECTORY ${found})
  set(options -max_total_time=${PENUMBRA_FUZZ_SECONDS} -timeout=10 -rss_limit_mb=4096 -print_final_stats=1)
  if(arg_DICTIONARY)
    list(APPEND options -dict=${CMAKE_CURRENT_SOURCE_DIR}/${arg_DICTIONARY})
  endif()
  add_test(NAME ${name} COMMAND ${name} ${options} ${found} ${CMAKE_CURRENT_SOURCE_DIR}/${arg_CORPUS}
           WORKING_DIRECTORY ${PROJECT_BINARY_DIR}/fuzz)
  set_tests_properties(${name} PROPERTIES LABELS fuzz)
endfunction()

# penumbra_add_folders(parent) adds every folder below `parent` that has a CMakeLists.txt.
function(penumbra_add_folders parent)
  file(GLOB lists CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${parent}/*/CMakeLists.txt)
  foreach(list IN LISTS lists)
    cmake_path(GET list PARENT_PATH folder)
    add_subdirectory(${folder})
  endforeach()
endfunction()
