// SPDX-License-Identifier: Apache-2.0
#include "base/text_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>

#include "penumbra/errors.h"

namespace penumbra {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{1} << 30;
constexpr std::size_t kStepBytes = std::size_t{1} << 20;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

InputError unreadable(const std::filesystem::path& file, int error) {
  return {{file.string()}, "cannot be read: " + std::generic_category().message(error)};
}

}  // namespace

std::string read_text_file(const std::filesystem::path& file) {
  const std::unique_ptr<std::FILE, CloseFile> stream(std::fopen(file.c_str(), "rb"));
  if (!stream) throw unreadable(file, errno);
  std::string text;
  std::size_t used = 0;
  while (true) {
    // Doubling keeps the copying linear; what a file says about its own size is not to be trusted (pipes, /proc).
    text.resize(std::max(used * 2, used + kStepBytes));
    errno = 0;
    const std::size_t got = std::fread(text.data() + used, 1, text.size() - used, stream.get());
    used += got;
    if (std::ferror(stream.get()) != 0) throw unreadable(file, errno);  // a directory ends here
    if (used > kMaxBytes) throw InputError({file.string()}, "is longer than 1 GiB");
    if (used < text.size()) break;
  }
  text.resize(used);
  return text;
}

}  // namespace penumbra
