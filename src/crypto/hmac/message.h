/* SPDX-License-Identifier: Apache-2.0
 *
 * The blocks of a message that a digest reads: the message lies in up to three places, and ends with the padding of
 * FIPS 180-4, section 5.1. */
#ifndef PENUMBRA_CRYPTO_HMAC_MESSAGE_H
#define PENUMBRA_CRYPTO_HMAC_MESSAGE_H

#include "crypto/bytes.h"

enum { MESSAGE_PARTS = 3, MESSAGE_MOST_BLOCK = 128 /* bytes of the longest block */ };

struct message {
  const uint8_t* part[MESSAGE_PARTS];
  uint32_t part_bytes[MESSAGE_PARTS];
  uint32_t before; /* bytes that the digest read before, a multiple of the block; they count in the length */
  uint32_t block;  /* bytes of a block: 64, or 128 with lengths of 16 bytes */
};

PENUMBRA_SHADER uint32_t message_bytes(const struct message* message) {
  return message->part_bytes[0] + message->part_bytes[1] + message->part_bytes[2];
}

/* Returns the number of blocks with the padding: a bit of 1, zeros and the length. */
PENUMBRA_SHADER uint32_t message_blocks(const struct message* message) {
  return (message_bytes(message) + message->block / 8) / message->block + 1;
}

/* Copies a block to `room`, with the padding. */
PENUMBRA_SHADER void message_copy(const struct message* message, uint32_t index, uint8_t* room) {
  const uint32_t bytes = message_bytes(message), begin = index * message->block, end = begin + message->block;
  for (uint32_t i = 0; i < message->block; ++i) room[i] = 0;
  for (uint32_t p = 0, at = 0; p < MESSAGE_PARTS; at += message->part_bytes[p], ++p) {
    const uint32_t part_end = at + message->part_bytes[p];
    const uint32_t from = at > begin ? at : begin, to = part_end < end ? part_end : end;
    if (from < to) copy_bytes(room + (from - begin), message->part[p] + (from - at), to - from);
  }
  if (begin <= bytes && bytes < end) room[bytes - begin] = 0x80;
  if (index + 1 == message_blocks(message)) {
    write_be64(room + message->block - 8, ((uint64_t)message->before + bytes) * 8);
  }
}

/* Returns a block: where it lies if it lies in one part, or a copy in `room`. */
PENUMBRA_SHADER const uint8_t* message_at(const struct message* message, uint32_t index, uint8_t* room) {
  const uint32_t begin = index * message->block, end = begin + message->block;
  for (uint32_t p = 0, at = 0; p < MESSAGE_PARTS; at += message->part_bytes[p], ++p) {
    if (begin >= at && end <= at + message->part_bytes[p]) return message->part[p] + (begin - at);
  }
  message_copy(message, index, room);
  return room;
}

#endif
