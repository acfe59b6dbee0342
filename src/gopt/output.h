// SPDX-License-Identifier: Apache-2.0
//
// The files that are written.
#pragma once

#include <set>
#include <string>

namespace gopt {

/// Ends the program if `output`, by whatever name or link, is one of the files that were read: `what` names its option.
void refuse_to_overwrite(const std::string& what, const std::string& output, const std::set<std::string>& read);

/// Writes a file that is there only if it is whole. A device or a pipe is written to as it is.
void write_file(const std::string& path, const std::string& text);

bool is_newer(const std::string& path, const std::string& than);

/// A rule of make.
std::string dependencies(const std::string& output, const std::set<std::string>& files);

}  // namespace gopt
