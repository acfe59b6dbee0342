/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "pending.h"

#include <stdlib.h>
#include <string.h>

static void remove_at(struct pending** at) {
  struct pending* const entry = *at;
  *at = entry->next;
  free(entry->request);
  free(entry);
}

void pending_remove_first(struct pending** list) {
  remove_at(list);
}

int pending_add(struct pending** list, void* datagram, size_t length) {
  struct pending** end = list;
  struct pending** first;
  struct nlmsghdr* message;
  long left = (long)length;
  while (*end != NULL) end = &(*end)->next;
  first = end;
  for (message = datagram; NLMSG_OK(message, left); message = NLMSG_NEXT(message, left)) {
    struct pending* const entry = calloc(1, sizeof *entry);
    if (entry != NULL) {
      *end = entry;
      end = &entry->next;
      entry->request = memory_copy(message);
      entry->is_silent = (message->nlmsg_flags & NLM_F_ACK) == 0;
    }
    if (entry == NULL || entry->request == NULL) {
      while (*first != NULL) remove_at(first);
      return -1;
    }
    message->nlmsg_flags |= NLM_F_ACK;
  }
  return 0;
}

/* Requests of one socket are answered in their order. Returns where the first request of a sequence number is. */
static struct pending** find(struct pending** list, __u32 sequence) {
  struct pending** at = list;
  while (*at != NULL && (*at)->request->nlmsg_seq != sequence) at = &(*at)->next;
  return at;
}

int pending_take_answer(struct pending** list, const void* answer, size_t length, struct memory* memory) {
  const struct nlmsghdr* message = answer;
  long left = (long)length;
  int passes_on = 1;
  for (; NLMSG_OK(message, left); message = NLMSG_NEXT(message, left)) {
    struct pending** const at = find(list, message->nlmsg_seq);
    if (message->nlmsg_type == NLMSG_ERROR && message->nlmsg_len >= NLMSG_LENGTH(sizeof(struct nlmsgerr))) {
      const struct nlmsgerr* const error = NLMSG_DATA(message);
      /* The keeper sends each acknowledgement in a datagram of its own. Without a request, it answers the relay. */
      passes_on = *at != NULL && (!(*at)->is_silent || error->error != 0);
      if (*at == NULL) continue;
      memory_learn(memory, (*at)->request, -error->error);
      remove_at(at);
    } else if (*at != NULL) {
      /* A dump has many parts, and is answered by its end. */
      if (message->nlmsg_type == NLMSG_DONE) {
        remove_at(at);
      } else if ((message->nlmsg_flags & NLM_F_MULTI) == 0) {
        (*at)->has_answer = 1;
      }
    }
  }
  return passes_on;
}
