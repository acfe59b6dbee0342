// SPDX-License-Identifier: Apache-2.0
#include "report/built_in.h"

#include <stdexcept>
#include <string>

namespace penumbra::report {

std::string_view built_in_file(std::string_view name) {
  for (const auto& [file, text] : built_in_files()) {
    if (file == name) return text;
  }
  throw std::logic_error("no file is built in as " + std::string(name));
}

}  // namespace penumbra::report
