# SPDX-License-Identifier: Apache-2.0
# gopt_add(TARGET SOURCE... [WIDTH n|any] [SUFFIX s] [LANGUAGE C|CXX]) compiles each annotated SOURCE with gopt and adds
# the output to TARGET. SOURCE is parsed with TARGET's include folders, definitions and language standard. The functions
# keep their names with SUFFIX (_gopt) appended. SOURCE itself, the baseline, need not be added. LANGUAGE gives the
# language of a header; for other sources it is known.
include_guard()

function(gopt_add target)
  cmake_parse_arguments(arg "" "WIDTH;SUFFIX;LANGUAGE" "" ${ARGN})
  if(NOT arg_WIDTH)
    set(arg_WIDTH 16)
  endif()
  if(NOT arg_SUFFIX)
    set(arg_SUFFIX _gopt)
  endif()
  foreach(source IN LISTS arg_UNPARSED_ARGUMENTS)
    cmake_path(ABSOLUTE_PATH source NORMALIZE)
    cmake_path(GET source STEM LAST_ONLY stem)
    cmake_path(GET source EXTENSION LAST_ONLY extension)
    set(language ${arg_LANGUAGE})
    if(NOT language AND extension STREQUAL .c)
      set(language C)
    elseif(NOT language)
      set(language CXX)
    endif()
    if(language STREQUAL C)
      set(flags -xc)
      set(standard c)
      set(extension .c)
    else()
      set(flags -xc++)
      set(standard c++)
      set(extension .cc)
    endif()
    get_target_property(version ${target} ${language}_STANDARD)
    if(NOT version)
      set(version ${CMAKE_${language}_STANDARD})
    endif()
    if(version)
      list(APPEND flags -std=${standard}${version})
    endif()
    set(includes $<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>)
    set(definitions $<TARGET_PROPERTY:${target},COMPILE_DEFINITIONS>)
    set(output ${CMAKE_CURRENT_BINARY_DIR}/${target}.gopt/${stem}${arg_SUFFIX}${extension})
    file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/${target}.gopt)
    add_custom_command(
      OUTPUT ${output}
      COMMAND gopt::gopt ${source} -o ${output} --width ${arg_WIDTH} --suffix ${arg_SUFFIX} --depfile ${output}.d -- ${flags}
              "$<$<BOOL:${includes}>:-I$<JOIN:${includes},;-I>>" "$<$<BOOL:${definitions}>:-D$<JOIN:${definitions},;-D>>"
      DEPENDS ${source} gopt::gopt
      DEPFILE ${output}.d
      COMMAND_EXPAND_LISTS VERBATIM
      COMMENT "gopt ${stem}${extension}")
    target_sources(${target} PRIVATE ${output})
  endforeach()
endfunction()
