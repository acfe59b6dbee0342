// SPDX-License-Identifier: Apache-2.0
// The case has scopes, hidden names, references, constants, a class with a constructor, and a template with a hint.
#include "gopt.h"

namespace table {

struct slot {
  uint64_t key = 0;
  uint32_t value = 0;
};

template <class Key>
bool holds(const slot& slot, Key key) {
  const Key wanted(key);
  g_expensive(&slot);
  return static_cast<Key>(slot.key) == wanted;
}

void find(const slot* slots, uint32_t mask, const uint32_t* key, uint32_t* value, uint32_t n) {
  foreach (i, n) {
    const uint64_t wanted = key[i];
    slot best;
    for (uint32_t k = 0, step = 1; k < 4; ++k, step *= 2) {
      constexpr uint32_t prime = 31;
      const slot& slot = slots[(wanted * prime + step) & mask];
      if (!holds(slot, wanted)) continue;
      g_expensive(&slots[step]);
      if (uint32_t value = slot.value; slots[step].key == wanted) best.value += value;
      uint32_t wanted = best.value;
      best.key ^= wanted;
    }
    value[i] = best.value;
  }
}

}  // namespace table
