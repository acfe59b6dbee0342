// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "crypto/rsa/key.h"
#include "crypto/rsa_engine/form.h"

namespace penumbra::rsa_engine {

/// Keys of the engine itself, which clients name by the public part.
class OwnKeys {
 public:
  OwnKeys() = default;
  /// Reads every file of a folder whose name does not begin with a dot. Others may neither write into the folder nor
  /// access the files. Throws std::runtime_error, with the file and without any secret, unless each has a key that the
  /// forms take, and with which an operation gives a right result; std::system_error if the operating system refuses
  /// the locked memory.
  explicit OwnKeys(const std::filesystem::path& folder);

  std::size_t size() const { return keys_.size(); }
  /// Returns the key with a public part; null if there is none.
  std::shared_ptr<StoredKey> find(const rsa::KeyParts& parts) const;

 private:
  void add(const std::filesystem::path& file, int folder);

  std::map<std::string, std::shared_ptr<StoredKey>> keys_;  ///< By public part.
};

/// Returns whether the parts are public, and so name a key of the engine.
bool is_reference(const rsa::KeyParts& parts);

}  // namespace penumbra::rsa_engine
