// SPDX-License-Identifier: Apache-2.0
//
// Writes the output files.
#pragma once

#include <set>
#include <string>

namespace gopt {

/// Ends the program if `output`, under any name or link, is a file that was read. `what` names its option.
void refuse_to_overwrite(const std::string& what, const std::string& output, const std::set<std::string>& read);

/// Writes a file atomically: it appears only if it is complete. A device or a pipe is written directly.
void write_file(const std::string& path, const std::string& text);

bool is_newer(const std::string& path, const std::string& than);

/// Returns a rule for make.
std::string dependencies(const std::string& output, const std::set<std::string>& files);

}  // namespace gopt
