# SPDX-License-Identifier: Apache-2.0
# CUDA is optional: CMAKE_CUDA_COMPILER is false if it is left out. tools/find-nvcc runs at each configuration, so that
# nvcc may be installed, removed or replaced later. The Makefile configures again when the output of tools/find-nvcc
# differs from PENUMBRA_NVCC. An nvcc that -DCMAKE_CUDA_COMPILER names is kept. Sanitizers and fuzzing leave CUDA out,
# because nvcc does not accept their flags.
include_guard()
include(CheckLanguage)

execute_process(COMMAND ${PROJECT_SOURCE_DIR}/tools/find-nvcc
                OUTPUT_VARIABLE nvcc OUTPUT_STRIP_TRAILING_WHITESPACE
                ERROR_VARIABLE why_not ERROR_STRIP_TRAILING_WHITESPACE)
set(cached "${CMAKE_CUDA_COMPILER}")
if(PENUMBRA_SANITIZE OR NOT cached OR NOT EXISTS "${cached}"
   OR ("${cached}" STREQUAL "${PENUMBRA_NVCC}" AND NOT "${cached}" STREQUAL "${nvcc}"))
  if(cached)  # removes all cached results about the old compiler too
    file(GLOB known ${PROJECT_BINARY_DIR}/CMakeFiles/*/CMakeCUDACompiler.cmake)
    file(REMOVE ${known})
    get_cmake_property(variables CACHE_VARIABLES)
    list(FILTER variables INCLUDE REGEX "^(CUDA_.*|CUDAToolkit_.*)$")
    foreach(variable IN LISTS variables)
      unset(${variable} CACHE)
    endforeach()
  endif()
  unset(CMAKE_CUDA_COMPILER CACHE)
  if(nvcc AND NOT PENUMBRA_SANITIZE)
    if(NOT DEFINED ENV{CUDACXX})
      set(ENV{CUDACXX} ${nvcc})
    endif()
    check_language(CUDA)
  endif()
endif()
set(PENUMBRA_NVCC "${nvcc}" CACHE INTERNAL "What tools/find-nvcc said")
if(PENUMBRA_SANITIZE)
  message(STATUS "Sanitizers: CUDA is left out")
elseif(NOT CMAKE_CUDA_COMPILER)
  message(STATUS "No nvcc of CUDA 13 that works: CUDA is left out. ${why_not}")
endif()
