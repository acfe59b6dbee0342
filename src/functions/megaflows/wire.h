/* SPDX-License-Identifier: Apache-2.0
 *
 * The messages on the socket of the function `megaflows`, for clients in C and C++. docs/functions/megaflows.md
 * describes them. The socket is of the type SOCK_SEQPACKET, so that a message is one send() and one recv(). Numbers
 * have the byte order of the machine, because both ends are on it. */
#ifndef PENUMBRA_MEGAFLOWS_WIRE_H
#define PENUMBRA_MEGAFLOWS_WIRE_H

#include <stdint.h>

enum {
  MEGAFLOWS_VERSION = 1,
  MEGAFLOWS_WORDS = 14,        /* words of a key */
  MEGAFLOWS_MOST_ACTIONS = 64, /* actions of a megaflow */
  MEGAFLOWS_MOST_BYTES = 4096, /* bytes of a request */
  MEGAFLOWS_REPLY = 0x80,      /* bit in the type of a reply */
  MEGAFLOWS_MOST_BANDS = 8,    /* bands of a meter */
  MEGAFLOWS_NAME_BYTES = 64    /* bytes of a port's name, with the final 0 */
};

enum megaflows_type {
  MEGAFLOWS_ADD = 1,    /* megaflows_add, pairs of words, actions; answered by megaflows_reply */
  MEGAFLOWS_DELETE = 2, /* megaflows_request with a ufid; answered by megaflows_reply with the last counts */
  MEGAFLOWS_FLUSH = 3,  /* megaflows_request; removes the client's megaflows; answered by megaflows_reply */
  MEGAFLOWS_COUNTS = 4, /* megaflows_request with a ufid; answered by megaflows_reply with the counts */
  MEGAFLOWS_PORTS = 5,  /* megaflows_request; answered by megaflows_reply and a megaflows_port for each port */
  /* megaflows_meter and its bands; answered by megaflows_reply */
  MEGAFLOWS_METER_SET = 6,
  /* megaflows_request with the meter in ufid[0]; both are answered by megaflows_reply with what the meter has received,
   * and a megaflows_band_counts for each band */
  MEGAFLOWS_METER_DELETE = 7,
  MEGAFLOWS_METER_COUNTS = 8
};

struct megaflows_header {
  uint8_t version; /* MEGAFLOWS_VERSION */
  uint8_t type;
  uint16_t bytes; /* of the message with this header; 0 if the message has more than 65535 */
  uint32_t id;    /* chosen by the client; the reply has the same */
};

struct megaflows_request {
  struct megaflows_header header;
  uint64_t ufid[2]; /* 0 in requests that name no megaflow */
};

struct megaflows_add {
  struct megaflows_header header;
  uint64_t ufid[2];
  uint16_t words;   /* bit i: a pair of value and mask of word i of the key follows, in rising order */
  uint16_t actions; /* number of actions after the pairs */
  uint32_t zero;
};

struct megaflows_pair {
  uint64_t value; /* bits outside the mask are 0 */
  uint64_t mask;  /* not 0 */
};

enum megaflows_action_type {
  MEGAFLOWS_OUTPUT = 1,    /* argument: number of a port */
  MEGAFLOWS_PUSH_VLAN = 2, /* argument: ethertype in the upper half, tag control information in the lower half */
  MEGAFLOWS_POP_VLAN = 3,  /* argument: 0 */
  MEGAFLOWS_SET = 4,       /* argument: a megaflows_field; value and mask of the field */
  MEGAFLOWS_METER = 5      /* argument: number of a meter; before the first output */
};

struct megaflows_action {
  uint32_t type;
  uint32_t argument;
  uint64_t value[2]; /* upper and lower half; 0 for other types than MEGAFLOWS_SET */
  uint64_t mask[2];
};

/* Fields that can be set, by the numbers of the fields of a key. */
enum megaflows_field {
  MEGAFLOWS_ETH_SRC = 1,
  MEGAFLOWS_ETH_DST = 2,
  MEGAFLOWS_NW_SRC = 6,
  MEGAFLOWS_NW_DST = 7,
  MEGAFLOWS_IPV6_SRC = 8,
  MEGAFLOWS_IPV6_DST = 9,
  MEGAFLOWS_IPV6_LABEL = 10,
  MEGAFLOWS_NW_TOS = 12,
  MEGAFLOWS_NW_TTL = 13,
  MEGAFLOWS_TP_SRC = 15,
  MEGAFLOWS_TP_DST = 16
};

struct megaflows_reply {
  struct megaflows_header header;
  uint32_t error; /* 0, or an errno: EINVAL, EEXIST, ENOENT, ENOSPC, EOPNOTSUPP */
  uint32_t ports; /* number of megaflows_port or megaflows_band_counts after the reply */
  uint64_t packets;
  uint64_t bytes;
  uint64_t used_ms; /* time of the last packet by CLOCK_MONOTONIC; 0: none */
};

struct megaflows_port {
  uint32_t number; /* from 1, in the order of the configuration */
  uint32_t zero;
  char name[MEGAFLOWS_NAME_BYTES]; /* ends with 0 */
};

struct megaflows_meter {
  struct megaflows_header header;
  uint32_t meter; /* chosen by the client */
  uint8_t unit;   /* 0: bits, 1: packets */
  uint8_t bands;  /* number of megaflows_band after the meter */
  uint16_t zero;
};

/* Drops packets above a rate. */
struct megaflows_band {
  uint32_t rate;  /* kilobits or packets in a second; not 0 */
  uint32_t burst; /* kilobits or packets */
};

struct megaflows_band_counts {
  uint64_t packets; /* that the band has dropped */
  uint64_t bytes;
};

#endif
