// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/file_descriptor.h"

namespace penumbra::ids {

/// Where events are written: a file, or a socket of a program that reads them. One thread uses it.
class EveOutput {
 public:
  /// `target` is "FILE" or "unix:PATH". A file is opened at once: throws std::runtime_error if that fails, if
  /// its name is a symbolic link, or if no regular file has it. A socket may have no reader yet.
  explicit EveOutput(const std::string& target);

  /// Writes whole lines. Returns false if they were not all written. A reader of the socket that takes nothing for a
  /// tenth of a second loses its connection.
  bool write(std::string_view lines);
  /// Call this function about once a second: opens the file again if another one has its name, as log rotation leaves
  /// it, and connects to the socket again.
  void turn();

 private:
  void open_file();
  void connect();
  bool is_moved() const;

  bool is_socket_;
  std::string path_;
  FileDescriptor file_;
  bool ends_in_a_line_ = true;
};

}  // namespace penumbra::ids
