// SPDX-License-Identifier: Apache-2.0
#include "crypto/rsa/key_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/file_descriptor.h"

namespace penumbra::rsa {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostBytes = std::size_t{64} << 10;  // of a file

[[noreturn]] void fail(const fs::path& file, const std::string& fault) {
  throw std::runtime_error("'" + file.string() + "' " + fault);
}

void require_owner_only(const fs::path& file, const struct stat& status) {
  if (status.st_uid != 0 && status.st_uid != geteuid()) {
    fail(file, "belongs to another user; make the user of this process its owner (chown)");
  }
  if ((status.st_mode & 077) != 0) {
    fail(file, "may be accessed by others than its owner; forbid it (chmod 600)");
  }
}

SecretMemory read_file(const fs::path& file, Readers readers, int folder) {
  const fs::path name = folder == AT_FDCWD ? file : file.filename();
  // A FIFO blocks nobody.
  const FileDescriptor descriptor(openat(folder, name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status{};
  if (!descriptor || fstat(descriptor.get(), &status) != 0) {
    fail(file, "cannot be read: " + std::generic_category().message(errno));
  }
  if (!S_ISREG(status.st_mode)) fail(file, "is no file; give a PEM file with a private key");
  if (readers == Readers::owner) require_owner_only(file, status);
  if (status.st_size > static_cast<off_t>(kMostBytes)) {
    fail(file, "is longer than 64 KiB; give a PEM file with one private key");
  }
  SecretMemory content(static_cast<std::size_t>(status.st_size));
  std::size_t read_bytes = 0;
  while (read_bytes < content.bytes()) {
    const ssize_t got = read(descriptor.get(), content.data() + read_bytes, content.bytes() - read_bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(file, "cannot be read: " + std::generic_category().message(errno));
    if (got == 0) break;
    read_bytes += static_cast<std::size_t>(got);
  }
  return content;
}

/// A part of a PEM file (RFC 7468).
struct Block {
  std::string_view label;
  std::string_view body;  ///< The lines between the first and the last.
  std::string_view whole;
};

/// Takes `part` off the begin of `text`. Returns false if `text` begins with anything else.
bool take_part(std::string_view& text, std::string_view part) {
  const bool begins = text.starts_with(part);
  if (begins) text.remove_prefix(part.size());
  return begins;
}

/// Takes the next block off `text`. Returns none if there is no further block. Fails for a block without its own end,
/// because a certificate without one would take in the private key after it.
std::optional<Block> take_block(const fs::path& file, std::string_view& text) {
  constexpr std::string_view kBegin = "-----BEGIN ", kEnd = "-----END ", kDashes = "-----";
  const std::size_t begin = text.find(kBegin);
  if (begin == std::string_view::npos) return std::nullopt;
  text.remove_prefix(begin);
  const std::string_view from = text;
  const auto up_to_dashes = [&] {
    const std::string_view part = text.substr(0, text.find(kDashes));
    text.remove_prefix(part.size());
    return part;
  };
  text.remove_prefix(kBegin.size());
  const std::string_view label = up_to_dashes();
  const auto is_of_label = [](char letter) { return letter == ' ' || (letter >= '0' && letter <= 'Z'); };
  if (std::ranges::all_of(label, is_of_label) && take_part(text, kDashes)) {
    const std::string_view body = up_to_dashes();
    if (take_part(text, kEnd) && take_part(text, label) && take_part(text, kDashes)) {
      return Block{label, body, from.substr(0, from.size() - text.size())};
    }
  }
  fail(file, "has a damaged block ('-----BEGIN' without its '-----END'); copy the file again");
}

/// Returns the six bits of a letter of base64; 64 for other letters.
std::uint32_t bits_of(char letter) {
  if (letter >= 'A' && letter <= 'Z') return static_cast<std::uint32_t>(letter - 'A');
  if (letter >= 'a' && letter <= 'z') return static_cast<std::uint32_t>(letter - 'a' + 26);
  if (letter >= '0' && letter <= '9') return static_cast<std::uint32_t>(letter - '0' + 52);
  return letter == '+' ? 62 : letter == '/' ? 63 : 64;
}

/// Decodes base64 with its padding into `room`. Returns the bytes; none if the text is no base64.
std::optional<std::span<const std::uint8_t>> decode(std::string_view text, std::span<std::uint8_t> room) {
  constexpr std::uint32_t kNoLetter = 64;
  constexpr std::size_t kMostPadding = 2;
  std::size_t bytes = 0, letters = 0, padding = 0;
  std::uint32_t group = 0, bits = 0;
  for (const char letter : text) {
    if (letter == '\n' || letter == '\r' || letter == ' ' || letter == '\t') continue;
    const std::uint32_t value = bits_of(letter);
    ++letters;
    if (letter == '=' && ++padding <= kMostPadding) continue;
    if (padding != 0 || value == kNoLetter) return std::nullopt;
    group = group << 6 | value;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    room[bytes++] = static_cast<std::uint8_t>(group >> bits);
  }
  if (letters % 4 != 0) return std::nullopt;
  return room.first(bytes);
}

void require_base64(const fs::path& file, std::string_view certificate) {
  const SecretMemory room(certificate.size() + 1);
  if (!decode(certificate, {reinterpret_cast<std::uint8_t*>(room.data()), room.bytes()})) {
    fail(file, "has a certificate that is no base64; copy the file again");
  }
}

/// Returns the block of the file's private key. Fails for any other than one key of RSA without a passphrase.
Block private_key_of(const fs::path& file, std::string_view text, std::string& certificates) {
  std::optional<Block> found;
  while (const auto block = take_block(file, text)) {
    if (block->label == "CERTIFICATE") {
      require_base64(file, block->body);
      certificates += std::string(block->whole) + "\n";
    }
    if (!block->label.ends_with("PRIVATE KEY")) continue;
    if (found) fail(file, "has more than one private key; give each a file of its own");
    found = block;
  }
  if (!found) fail(file, "has no private key in PEM ('-----BEGIN PRIVATE KEY-----')");
  if (found->label == "ENCRYPTED PRIVATE KEY" || found->body.find(",ENCRYPTED") != std::string_view::npos) {
    fail(file, "has a passphrase, which is not supported; write the key without one (openssl pkey -in FILE -out NEW)");
  }
  if (found->label != "PRIVATE KEY" && found->label != "RSA PRIVATE KEY") {
    fail(file, "has a private key that is no RSA key ('" + std::string(found->label.substr(0, 32)) + "')");
  }
  return *found;
}

}  // namespace

KeyFile::KeyFile(const fs::path& file, Readers readers, int folder) {
  const SecretMemory content = read_file(file, readers, folder);
  const std::string_view text(reinterpret_cast<const char*>(content.data()), content.bytes());
  const Block block = private_key_of(file, text, certificates_);
  der_ = SecretMemory(block.body.size() + 1);
  const auto der = decode(block.body, {reinterpret_cast<std::uint8_t*>(der_.data()), der_.bytes()});
  if (!der) fail(file, "has a private key that is no base64; copy the file again");
  try {
    key_ = read_private_key(*der, block.label == "PRIVATE KEY");
  } catch (const std::invalid_argument& error) {
    fail(file, std::string("has no key that can be used: ") + error.what());
  }
}

}  // namespace penumbra::rsa
