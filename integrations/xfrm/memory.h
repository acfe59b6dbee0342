/* SPDX-License-Identifier: Apache-2.0
 *
 * A relay remembers the program's requests, so that a restart of the keeper can be hidden. It contains no key.
 */
#ifndef PENUMBRA_INTEGRATIONS_XFRM_MEMORY_H
#define PENUMBRA_INTEGRATIONS_XFRM_MEMORY_H

#include <linux/netlink.h>
#include <linux/xfrm.h>
#include <stddef.h>

struct memory_sa {
  struct xfrm_usersa_info sa;
  struct memory_sa* next;
};

struct memory_policy {
  struct nlmsghdr* message; /* NEWPOLICY or UPDPOLICY as it was sent */
  struct memory_policy* next;
};

struct memory {
  struct memory_sa* sas;
  struct memory_policy* policies;
};

/* Copies a request without its keys: nlmsg_len of the copy says how much was copied. Returns null without memory. The
 * caller frees the copy. */
struct nlmsghdr* memory_copy(const struct nlmsghdr* request);
/* Learns from a copied request that was answered with the errno `error`, or 0. Additions are learned only if the keeper
 * accepted them. Removals are always learned: an entry that cannot be removed is gone. */
void memory_learn(struct memory* memory, const struct nlmsghdr* request, int error);
/* Removes an SA from the memory and writes its hard EXPIRE. Returns the bytes written, or 0 if there is no SA. */
size_t memory_take_expire(struct memory* memory, void* message, size_t room);

#endif
