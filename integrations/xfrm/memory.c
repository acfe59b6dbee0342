/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "memory.h"

#include <stdlib.h>
#include <string.h>

static int same_sa(const struct xfrm_usersa_info* sa, const xfrm_address_t* destination, __be32 spi, __u8 protocol) {
  return memcmp(&sa->id.daddr, destination, sizeof *destination) == 0 && sa->id.spi == spi && sa->id.proto == protocol;
}

static void forget_sa(struct memory* memory, const xfrm_address_t* destination, __be32 spi, __u8 protocol) {
  struct memory_sa** at = &memory->sas;
  while (*at != NULL) {
    struct memory_sa* const entry = *at;
    if (same_sa(&entry->sa, destination, spi, protocol)) {
      *at = entry->next;
      free(entry);
    } else {
      at = &entry->next;
    }
  }
}

static void learn_sa(struct memory* memory, const struct xfrm_usersa_info* sa) {
  struct memory_sa* entry;
  forget_sa(memory, &sa->id.daddr, sa->id.spi, sa->id.proto);
  entry = malloc(sizeof *entry);
  if (entry == NULL) return;
  entry->sa = *sa;
  entry->next = memory->sas;
  memory->sas = entry;
}

/* Two policies of a selector and a direction that differ in a mark are rare. The last one is remembered. */
static void forget_policy(struct memory* memory, const struct xfrm_selector* selector, __u8 direction) {
  struct memory_policy** at = &memory->policies;
  while (*at != NULL) {
    struct memory_policy* const entry = *at;
    const struct xfrm_userpolicy_info* policy = NLMSG_DATA(entry->message);
    if (memcmp(&policy->sel, selector, sizeof *selector) == 0 && policy->dir == direction) {
      *at = entry->next;
      free(entry->message);
      free(entry);
    } else {
      at = &entry->next;
    }
  }
}

static void learn_policy(struct memory* memory, const struct nlmsghdr* request) {
  const struct xfrm_userpolicy_info* policy = NLMSG_DATA(request);
  struct memory_policy* entry;
  struct memory_policy** end = &memory->policies;
  forget_policy(memory, &policy->sel, policy->dir);
  entry = calloc(1, sizeof *entry);
  if (entry == NULL) return;
  entry->message = malloc(request->nlmsg_len);
  if (entry->message == NULL) {
    free(entry);
    return;
  }
  memcpy(entry->message, request, request->nlmsg_len);
  while (*end != NULL) end = &(*end)->next;
  *end = entry;
}

static void clear_sas(struct memory* memory) {
  while (memory->sas != NULL) {
    struct memory_sa* const entry = memory->sas;
    memory->sas = entry->next;
    free(entry);
  }
}

static void clear_policies(struct memory* memory) {
  while (memory->policies != NULL) {
    struct memory_policy* const entry = memory->policies;
    memory->policies = entry->next;
    free(entry->message);
    free(entry);
  }
}

/* Returns how many bytes of a request are remembered. They contain no key. */
static size_t kept_bytes(const struct nlmsghdr* request) {
  const size_t bytes = request->nlmsg_len;
  size_t fixed = sizeof *request;
  switch (request->nlmsg_type) {
    case XFRM_MSG_NEWSA:
    case XFRM_MSG_UPDSA:
      fixed = NLMSG_LENGTH(sizeof(struct xfrm_usersa_info));
      break;
    case XFRM_MSG_DELSA:
      fixed = NLMSG_LENGTH(sizeof(struct xfrm_usersa_id));
      break;
    case XFRM_MSG_DELPOLICY:
      fixed = NLMSG_LENGTH(sizeof(struct xfrm_userpolicy_id));
      break;
    case XFRM_MSG_NEWPOLICY:
    case XFRM_MSG_UPDPOLICY:
      fixed = bytes;
      break;
    default:
      break;
  }
  return bytes < fixed ? bytes : fixed;
}

struct nlmsghdr* memory_copy(const struct nlmsghdr* request) {
  const size_t bytes = kept_bytes(request);
  struct nlmsghdr* const copy = malloc(bytes);
  if (copy == NULL) return NULL;
  memcpy(copy, request, bytes);
  copy->nlmsg_len = (__u32)bytes;
  return copy;
}

void memory_learn(struct memory* memory, const struct nlmsghdr* request, int error) {
  const void* const fixed = NLMSG_DATA(request);
  const size_t bytes = request->nlmsg_len - sizeof *request;
  switch (request->nlmsg_type) {
    case XFRM_MSG_NEWSA:
    case XFRM_MSG_UPDSA:
      if (error == 0 && bytes >= sizeof(struct xfrm_usersa_info)) learn_sa(memory, fixed);
      break;
    case XFRM_MSG_DELSA: {
      const struct xfrm_usersa_id* id = fixed;
      if (bytes >= sizeof *id) forget_sa(memory, &id->daddr, id->spi, id->proto);
      break;
    }
    case XFRM_MSG_FLUSHSA:
      clear_sas(memory);
      break;
    case XFRM_MSG_NEWPOLICY:
    case XFRM_MSG_UPDPOLICY:
      if (error == 0 && bytes >= sizeof(struct xfrm_userpolicy_info)) learn_policy(memory, request);
      break;
    case XFRM_MSG_DELPOLICY: {
      const struct xfrm_userpolicy_id* id = fixed;
      if (bytes >= sizeof *id) forget_policy(memory, &id->sel, id->dir);
      break;
    }
    case XFRM_MSG_FLUSHPOLICY:
      clear_policies(memory);
      break;
    default:
      break;
  }
}

size_t memory_take_expire(struct memory* memory, void* message, size_t room) {
  struct nlmsghdr head = {0};
  struct xfrm_user_expire expire;
  struct memory_sa* const entry = memory->sas;
  const size_t length = NLMSG_LENGTH(sizeof expire);
  if (entry == NULL || room < length) return 0;
  memset(&expire, 0, sizeof expire);
  expire.state = entry->sa;
  expire.hard = 1;
  head.nlmsg_len = (__u32)length;
  head.nlmsg_type = XFRM_MSG_EXPIRE;
  memcpy(message, &head, sizeof head);
  memcpy((char*)message + NLMSG_HDRLEN, &expire, sizeof expire);
  memory->sas = entry->next;
  free(entry);
  return length;
}
