// SPDX-License-Identifier: Apache-2.0
#include "base/text_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <string_view>
#include <system_error>

#include "penumbra/errors.h"

namespace penumbra {
namespace {

constexpr std::size_t kLeastStep = std::size_t{64} << 10;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

InputError unreadable(const std::filesystem::path& file, int error) {
  return {{file.string()}, "cannot be read: " + std::generic_category().message(error)};
}

/// Removes the byte order mark that some editors put before UTF-8. UTF-16 and UTF-32 begin with a mark too and are
/// refused.
void remove_byte_order_mark(std::string& text, const std::filesystem::path& file) {
  constexpr std::string_view kUtf8 = "\xEF\xBB\xBF", kUtf16Big = "\xFE\xFF", kUtf16Little = "\xFF\xFE";
  if (text.starts_with(kUtf8)) text.erase(0, kUtf8.size());
  if (!text.starts_with(kUtf16Big) && !text.starts_with(kUtf16Little)) return;
  throw InputError({file.string(), 1, 1}, "begins with the byte order mark of UTF-16; save the file as UTF-8");
}

}  // namespace

std::string read_text_file(const std::filesystem::path& file, std::size_t most) {
  const std::unique_ptr<std::FILE, CloseFile> stream(std::fopen(file.c_str(), "rb"));
  if (!stream) throw unreadable(file, errno);
  // The reported size saves copies but is not reliable (pipes, /proc); doubling then keeps the number of copies small.
  std::error_code no_size;
  const auto expected = std::filesystem::file_size(file, no_size);
  std::size_t step = std::max(kLeastStep, no_size ? 0 : std::min<std::size_t>(expected, most) + 1);
  std::string text;
  std::size_t used = 0;
  while (used <= most) {
    text.resize(used + step);
    errno = 0;
    const std::size_t got = std::fread(text.data() + used, 1, step, stream.get());
    used += got;
    if (std::ferror(stream.get()) != 0) throw unreadable(file, errno);  // Reading a directory fails here.
    if (got < step) break;
    step = used;
  }
  if (used > most) throw InputError({file.string()}, "is longer than " + std::to_string(most) + " bytes");
  text.resize(used);
  remove_byte_order_mark(text, file);
  return text;
}

}  // namespace penumbra
