/* SPDX-License-Identifier: Apache-2.0
 *
 * The requests of a program that the keeper has not answered completely. */
#ifndef PENUMBRA_INTEGRATIONS_XFRM_PENDING_H
#define PENUMBRA_INTEGRATIONS_XFRM_PENDING_H

#include <linux/netlink.h>
#include <stddef.h>

#include "memory.h"

struct pending {
  struct nlmsghdr* request; /* without keys */
  int is_silent;            /* The program wants no acknowledgement. */
  int has_answer;           /* The program got the message that answers the request. */
  struct pending* next;
};

/* Appends the requests of a datagram, and asks for an acknowledgement of each in the datagram. Returns 0, or -1 without
 * memory; then nothing is appended. */
int pending_add(struct pending** list, void* datagram, size_t length);

/* Reads an answer of `length` bytes, removes what it completes, and lets `memory` learn. Returns 1 if the program must
 * get the answer, and 0 if it did not ask for it. */
int pending_take_answer(struct pending** list, const void* answer, size_t length, struct memory* memory);

/* Removes the first request. */
void pending_remove_first(struct pending** list);

#endif
