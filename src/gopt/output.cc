// SPDX-License-Identifier: Apache-2.0
#include "output.h"

#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "arguments.h"
#include "llvm/Support/FileSystem.h"

namespace gopt {

void refuse_to_overwrite(const std::string& what, const std::string& output, const std::set<std::string>& read) {
  for (const std::string& file : read) {
    if (output != file && !llvm::sys::fs::equivalent(output, file)) continue;
    std::string message = what;
    message.append(" ").append(output).append(" is ");
    if (output == file) {
      message.append("read, too");
    } else {
      message.append("the same file as ").append(file).append(", which is read");
    }
    complain(message.append("; name another one"));
  }
}

void write_file(const std::string& path, const std::string& text) {
  const bool is_special = llvm::sys::fs::exists(path) && !llvm::sys::fs::is_regular_file(path);
  const std::string unfinished = is_special ? path : path + "." + std::to_string(getpid()) + ".part";
  std::ofstream out(unfinished, std::ios::binary);
  out << text;
  out.close();
  if (!out || (!is_special && std::rename(unfinished.c_str(), path.c_str()) != 0)) {
    if (!is_special) std::remove(unfinished.c_str());
    complain("cannot write " + path);
  }
}

bool is_newer(const std::string& path, const std::string& than) {
  llvm::sys::fs::file_status first;
  llvm::sys::fs::file_status second;
  return !llvm::sys::fs::status(path, first) && !llvm::sys::fs::status(than, second) &&
         second.getLastModificationTime() < first.getLastModificationTime();
}

std::string dependencies(const std::string& output, const std::set<std::string>& files) {
  std::string text = output + ":";
  for (const std::string& file : files) {
    text += " \\\n  ";
    for (const char c : file) text += c == ' ' ? "\\ " : std::string(1, c);
  }
  return text + "\n";
}

}  // namespace gopt
