# SPDX-License-Identifier: Apache-2.0
# Writes a source with the files' texts (src/report/built_in.h).
#
# Usage: cmake -DOUTPUT=file.cc -DFILES="a;b" -P embed.cmake
set(text "// SPDX-License-Identifier: Apache-2.0\n// Written by src/report/embed.cmake.\n#include \"report/built_in.h\"\n\n")
string(APPEND text "namespace penumbra::report {\n\n")
string(APPEND text "const std::vector<std::pair<std::string_view, std::string_view>>& built_in_files() {\n")
string(APPEND text "  static const std::vector<std::pair<std::string_view, std::string_view>> kFiles{\n")
foreach(file IN LISTS FILES)
  cmake_path(GET file FILENAME name)
  file(READ ${file} content)
  string(APPEND text "      {\"${name}\", R\"~~~(${content})~~~\"},\n")
endforeach()
string(APPEND text "  };\n  return kFiles;\n}\n\n}  // namespace penumbra::report\n")
file(WRITE ${OUTPUT} "${text}")
