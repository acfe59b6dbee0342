/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies the payload of packets, each byte xor a mask that the packet's key selects. The shader shows what moving
 * payload costs an engine, and it is the smallest shader that reads and writes payload. */
#ifndef PENUMBRA_PAYLOAD_COPY_H
#define PENUMBRA_PAYLOAD_COPY_H

#include "penumbra/shader.h"

struct payload_masks {
  const uint8_t* mask; /* 256 masks */
};

/* Returns the bytes of item i that are copied: all, as far as there is room. */
PENUMBRA_SHADER uint32_t payload_copied(struct penumbra_source source, struct penumbra_destination destination,
                                        uint32_t i) {
  return source.length[i] < destination.room[i] ? source.length[i] : destination.room[i];
}

PENUMBRA_SHADER void payload_copy(struct payload_masks view, const uint8_t* key, struct penumbra_source source,
                                  struct penumbra_destination destination, uint32_t n) {
  foreach (i, n) {
    const uint32_t length = payload_copied(source, destination, i);
    const uint8_t mask = penumbra_load(&view.mask[key[i]]);
    const uint8_t* from = source.bytes + source.position[i];
    uint8_t* to = destination.bytes + destination.position[i];
    for (uint32_t k = 0; k < length; ++k) to[k] = (uint8_t)(from[k] ^ mask);
    destination.length[i] = length;
  }
}

#endif
