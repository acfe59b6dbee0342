// SPDX-License-Identifier: Apache-2.0
#include "crypto/rsa_engine/own_keys.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <system_error>

#include "crypto/rsa/key_file.h"

namespace penumbra::rsa_engine {
namespace {

namespace fs = std::filesystem;

/// Returns the modulus without leading zeros.
std::string name_of(const rsa::KeyParts& parts) {
  const auto first = std::ranges::find_if(parts.modulus, [](std::uint8_t byte) { return byte != 0; });
  return {first, parts.modulus.end()};
}

[[noreturn]] void fail(const fs::path& path, const std::string& fault) {
  throw std::runtime_error("'" + path.string() + "' " + fault);
}

/// Whoever may write into the folder could add keys, or replace them.
void require_protected(const fs::path& folder) {
  struct stat status{};
  if (stat(folder.c_str(), &status) != 0) fail(folder, "cannot be read: " + std::generic_category().message(errno));
  if (!S_ISDIR(status.st_mode)) fail(folder, "is no folder; put the key files in a folder");
  if (status.st_uid != 0 && status.st_uid != geteuid()) {
    fail(folder, "belongs to another user; make the user of this process its owner (chown)");
  }
  if ((status.st_mode & 022) != 0) fail(folder, "may be changed by others than its owner; forbid it (chmod 700)");
}

}  // namespace

OwnKeys::OwnKeys(const fs::path& folder) {
  require_protected(folder);
  std::error_code error;
  for (fs::directory_iterator each(folder, error), end; !error && each != end; each.increment(error)) {
    if (!each->path().filename().string().starts_with('.')) add(each->path());
  }
  if (error) fail(folder, "cannot be read: " + error.message());
  if (keys_.empty()) fail(folder, "has no key; put PEM files of RSA keys in it");
}

void OwnKeys::add(const fs::path& file) {
  const rsa::KeyFile read(file, rsa::Readers::owner);
  if (read.is_reference()) fail(file, "is a reference, which has no secret; put the key itself here");
  auto key = std::make_shared<StoredKey>();
  try {
    rsa::expand(read.parts(), key->key());
  } catch (const std::invalid_argument& error) {
    fail(file, std::string("has no key that can be used: ") + error.what());
  }
  keys_.emplace(name_of(read.parts()), std::move(key));
}

std::shared_ptr<StoredKey> OwnKeys::find(const rsa::KeyParts& parts) const {
  const auto found = keys_.find(name_of(parts));
  std::uint32_t exponent = 0;
  if (found == keys_.end() || !rsa::words_of(parts.public_exponent, {&exponent, 1})) return nullptr;
  return exponent == found->second->key().exponent ? found->second : nullptr;
}

bool is_reference(const rsa::KeyParts& parts) {
  return parts.prime1.empty() && parts.prime2.empty() && parts.exponent1.empty() && parts.exponent2.empty() &&
         parts.coefficient.empty();
}

}  // namespace penumbra::rsa_engine
