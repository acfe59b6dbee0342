// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <system_error>

#include "crypto/rsa_engine/form.h"

namespace penumbra::rsa_engine {

/// Holds a form's expansion of each key.
template <class Expansion>
class Expansions {
 public:
  /// Returns the expansion, which `make` makes at the first call for the key. Returns null if there is no room for it:
  /// `make` throws std::bad_alloc, std::length_error or std::system_error. Any other exception passes.
  template <class Make>
  Expansion* find(const std::shared_ptr<const StoredKey>& key, Make make) {
    const auto found = all_.find(key);
    if (found != all_.end()) return &found->second;
    try {
      return &all_.emplace(key, make(key->key())).first->second;
    } catch (const std::bad_alloc&) {
      return nullptr;
    } catch (const std::length_error&) {
      return nullptr;
    } catch (const std::system_error&) {
      return nullptr;
    }
  }
  void forget() {
    std::erase_if(all_, [](const auto& each) { return each.first.expired(); });
  }

 private:
  std::map<std::weak_ptr<const StoredKey>, Expansion, std::owner_less<>> all_;
};

}  // namespace penumbra::rsa_engine
