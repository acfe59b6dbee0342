/* SPDX-License-Identifier: Apache-2.0
 *
 * Seals and opens packets as jobs: each item names a key of a table, so that all algorithms, keys and both directions
 * can be in one batch.
 *
 *   seal   source: payload                         destination: prefix | ciphertext | tag
 *   open   source: prefix | ciphertext | tag       destination: payload
 *
 * The prefix is what precedes the ciphertext in the packet, in ESP the header and the IV. With a digest (HMAC), the tag
 * covers prefix, ciphertext and trailer. Otherwise it covers `aad` and the ciphertext, and there is no trailer. */
#ifndef PENUMBRA_CRYPTO_CIPHER_JOBS_H
#define PENUMBRA_CRYPTO_CIPHER_JOBS_H

#include "crypto/cipher.h"

enum cipher_direction { CIPHER_SEAL, CIPHER_OPEN };

enum cipher_status {
  CIPHER_DONE,
  CIPHER_WRONG_TAG,    /* the destination has zeros or what it had, and no byte of the payload */
  CIPHER_WRONG_LENGTH, /* a length that the key cannot take, or that does not fit into the room: nothing is written */
  CIPHER_NO_KEY        /* nothing is written */
};

enum { CIPHER_MOST_NONCE = 16, CIPHER_MOST_PREFIX = 24, CIPHER_MOST_AAD = 24, CIPHER_MOST_TRAILER = 4 /* bytes */ };

/* A job of 80 bytes. Bytes after the given lengths are not used. */
struct cipher_job {
  uint32_t key;      /* index in the table */
  uint8_t direction; /* enum cipher_direction */
  uint8_t nonce_bytes, prefix_bytes, aad_bytes, trailer_bytes;
  uint8_t unused[3];
  uint8_t trailer[CIPHER_MOST_TRAILER];
  uint8_t nonce[CIPHER_MOST_NONCE];
  uint8_t prefix[CIPHER_MOST_PREFIX]; /* of a seal; an open finds it in the source */
  uint8_t aad[CIPHER_MOST_AAD];
};

struct cipher_jobs_view {
  const struct cipher_key* key;
  const void* library_key; /* the same keys as the library form wants them, in host memory */
  uint32_t keys;
};

/* Finds the parts of a job's packet. Returns CIPHER_DONE, or why the job cannot be done. */
PENUMBRA_SHADER uint32_t cipher_job_packet(const struct cipher_jobs_view* view, const struct cipher_job* job,
                                           const uint8_t* from, uint32_t length, uint8_t* to, uint32_t room,
                                           struct cipher_packet* packet) {
  const struct cipher_key* key = view->key + job->key;
  if (job->key >= view->keys || key->is_set == 0) return CIPHER_NO_KEY;
  if (job->nonce_bytes > CIPHER_MOST_NONCE || job->prefix_bytes > CIPHER_MOST_PREFIX ||
      job->aad_bytes > CIPHER_MOST_AAD || job->trailer_bytes > CIPHER_MOST_TRAILER) {
    return CIPHER_WRONG_LENGTH;
  }
  const uint32_t is_open = job->direction == CIPHER_OPEN;
  const uint32_t around = (uint32_t)job->prefix_bytes + key->tag_bytes;
  if (is_open != 0 ? length < around || length - around > room : room < around || length > room - around) {
    return CIPHER_WRONG_LENGTH;
  }
  packet->bytes = is_open != 0 ? length - around : length;
  packet->source = is_open != 0 ? from + job->prefix_bytes : from;
  packet->destination = is_open != 0 ? to : to + job->prefix_bytes;
  packet->received_tag = packet->source + packet->bytes;
  packet->tag = packet->destination + packet->bytes;
  packet->nonce = job->nonce;
  packet->nonce_bytes = job->nonce_bytes;
  if (key->digest != 0) {
    packet->aad = is_open != 0 ? from : to;
    packet->aad_bytes = job->prefix_bytes;
  } else {
    packet->aad = job->aad;
    packet->aad_bytes = job->aad_bytes;
  }
  packet->trailer = job->trailer;
  packet->trailer_bytes = job->trailer_bytes;
  packet->key = job->key;
  return cipher_fits(key->cipher, packet) != 0 ? CIPHER_DONE : CIPHER_WRONG_LENGTH;
}

/* Returns the bytes that a job leaves in the destination. */
PENUMBRA_SHADER uint32_t cipher_job_length(const struct cipher_key* key, const struct cipher_job* job,
                                           const struct cipher_packet* packet, uint32_t status) {
  if (status != CIPHER_DONE) return 0;
  return job->direction == CIPHER_OPEN ? packet->bytes : job->prefix_bytes + packet->bytes + key->tag_bytes;
}

PENUMBRA_SHADER void cipher_jobs(struct cipher_jobs_view view, const struct cipher_job* job,
                                 struct penumbra_source source, struct penumbra_destination destination,
                                 uint8_t* status, uint32_t n) {
  foreach (i, n) {
    struct cipher_packet packet;
    const struct cipher_key* key = view.key + job[i].key;
    const uint8_t* from = source.bytes + source.position[i];
    uint8_t* to = destination.bytes + destination.position[i];
    uint32_t found = cipher_job_packet(&view, job + i, from, source.length[i], to, destination.room[i], &packet);
    if (found == CIPHER_DONE) {
      if (job[i].direction == CIPHER_OPEN) {
        found = cipher_open(key, &packet) != 0 ? CIPHER_DONE : CIPHER_WRONG_TAG;
      } else {
        copy_bytes(to, job[i].prefix, job[i].prefix_bytes);
        cipher_seal(key, &packet);
      }
    }
    destination.length[i] = found == CIPHER_DONE ? cipher_job_length(key, job + i, &packet, found) : 0;
    status[i] = (uint8_t)found;
  }
}

#endif
