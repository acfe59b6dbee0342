// SPDX-License-Identifier: Apache-2.0
#include "crypto/rsa_engine/own_keys.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <span>
#include <stdexcept>
#include <system_error>

#include "crypto/rsa/key_file.h"

namespace penumbra::rsa_engine {
namespace {

namespace fs = std::filesystem;

/// Returns the public part, without leading zeros.
std::string name_of(const rsa::KeyParts& parts) {
  const auto is_digit = [](std::uint8_t byte) { return byte != 0; };
  const auto modulus = std::ranges::find_if(parts.modulus, is_digit);
  const auto exponent = std::ranges::find_if(parts.public_exponent, is_digit);
  const std::string length = std::to_string(parts.modulus.end() - modulus) + " ";
  return length + std::string(modulus, parts.modulus.end()) + std::string(exponent, parts.public_exponent.end());
}

/// Returns whether an operation gives a right result. Expansion does not look at the exponents and the coefficient.
bool is_right(const rsa_key& key) {
  const SecretArray<rsa_pair> pair(1);
  std::array<std::uint8_t, kMostBytes> random;
  std::array<std::uint32_t, RSA_MOST_WORDS> number{}, result{};
  rsa::fill_random(random);
  rsa::words_of(std::span(random).first(std::size_t{4} * key.words - 1), std::span(number).first(key.words));
  rsa_make_pair(&pair.span()[0], number.data(), &key);
  return rsa_private(result.data(), number.data(), &key, &pair.span()[0]) == RSA_DONE;
}

[[noreturn]] void fail(const fs::path& path, const std::string& fault) {
  throw std::runtime_error("'" + path.string() + "' " + fault);
}

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};
using OpenFolder = std::unique_ptr<DIR, CloseFolder>;

/// Opens the folder, so that another that replaces it is not read. Whoever may write into it could add keys, or replace
/// them.
OpenFolder open_protected(const fs::path& folder) {
  OpenFolder opened(opendir(folder.c_str()));
  if (opened == nullptr && errno == ENOTDIR) fail(folder, "is no folder; put the key files in a folder");
  struct stat status{};
  if (opened == nullptr || fstat(dirfd(opened.get()), &status) != 0) {
    fail(folder, "cannot be read: " + std::generic_category().message(errno));
  }
  if (status.st_uid != 0 && status.st_uid != geteuid()) {
    fail(folder, "belongs to another user; make the user of this process its owner (chown)");
  }
  if ((status.st_mode & 022) != 0) fail(folder, "may be changed by others than its owner; forbid it (chmod 700)");
  return opened;
}

}  // namespace

OwnKeys::OwnKeys(const fs::path& folder) {
  const OpenFolder opened = open_protected(folder);
  errno = 0;
  while (const dirent* const each = readdir(opened.get())) {
    if (each->d_name[0] != '.') add(folder / each->d_name, dirfd(opened.get()));
    errno = 0;
  }
  if (errno != 0) fail(folder, "cannot be read: " + std::generic_category().message(errno));
  if (keys_.empty()) fail(folder, "has no key; put PEM files of RSA keys in it");
}

void OwnKeys::add(const fs::path& file, int folder) {
  const rsa::KeyFile read(file, rsa::Readers::owner, folder);
  if (read.is_reference()) fail(file, "is a reference, which has no secret; put the key itself here");
  auto key = std::make_shared<StoredKey>();
  try {
    rsa::expand(read.parts(), key->key());
  } catch (const std::invalid_argument& error) {
    fail(file, std::string("has no key that can be used: ") + error.what());
  }
  if (!is_right(key->key())) fail(file, "has a key whose numbers do not fit each other; copy the file again");
  keys_.emplace(name_of(read.parts()), std::move(key));
}

std::shared_ptr<StoredKey> OwnKeys::find(const rsa::KeyParts& parts) const {
  const auto found = keys_.find(name_of(parts));
  return found == keys_.end() ? nullptr : found->second;
}

bool is_reference(const rsa::KeyParts& parts) {
  return parts.prime1.empty() && parts.prime2.empty() && parts.exponent1.empty() && parts.exponent2.empty() &&
         parts.coefficient.empty();
}

}  // namespace penumbra::rsa_engine
