// SPDX-License-Identifier: Apache-2.0
#include "control/xfrm/keys.h"

namespace penumbra::control::xfrm {

KeyHandle::~KeyHandle() {
  if (bytes_ != nullptr) store_->release(*bytes_);
}

KeyHandle KeyStore::allocate() {
  if (free_.empty()) {
    SecretArray<KeyBytes> block(kBlockKeys);
    // The list never grows in release(), which must not throw.
    free_.reserve((blocks_.size() + 1) * kBlockKeys);
    blocks_.push_back(std::move(block));
    for (KeyBytes& entry : blocks_.back().span()) free_.push_back(&entry);
  }
  KeyBytes* const entry = free_.back();
  free_.pop_back();
  return {*this, *entry};
}

void KeyStore::release(KeyBytes& bytes) noexcept {
  erase_bytes(&bytes, sizeof bytes);
  free_.push_back(&bytes);
}

}  // namespace penumbra::control::xfrm
