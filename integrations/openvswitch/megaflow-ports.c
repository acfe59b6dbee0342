/* SPDX-License-Identifier: Apache-2.0 */
#include "megaflow-ports.h"

#include <config.h>
#include <stdlib.h>
#include <string.h>

#include "megaflow-client.h"
#include "util.h"

enum { MOST_PORTS = 512, MOST_IDS = UINT16_MAX };

struct port {
  char name[MEGAFLOWS_NAME_BYTES];
  uint32_t number; /* 0 if the router lacks the port. */
  bool has_changed;
};

static struct port* ports; /* By id - 1. */
static size_t n_ports, allocated_ports;

static struct port* find(const char* name) {
  for (size_t i = 0; i < n_ports; i++) {
    if (!strcmp(ports[i].name, name)) {
      return &ports[i];
    }
  }
  return NULL;
}

static struct port* find_or_add(const char* name) {
  struct port* port = find(name);

  if (!port && n_ports < MOST_IDS) {
    if (n_ports == allocated_ports) {
      ports = x2nrealloc(ports, &allocated_ports, sizeof *ports);
    }
    port = &ports[n_ports++];
    memset(port, 0, sizeof *port);
    ovs_strlcpy(port->name, name, sizeof port->name);
  }
  return port;
}

bool megaflow_ports_read(void) {
  struct megaflows_port* listed = xcalloc(MOST_PORTS, sizeof *listed);
  struct megaflows_request request = {.header.type = MEGAFLOWS_PORTS};
  struct megaflows_reply reply;
  bool has_changed = false;

  if (!megaflow_client_ask(&request, sizeof request, &reply, listed, sizeof *listed, MOST_PORTS)) {
    uint32_t* before;

    for (uint32_t i = 0; i < reply.ports; i++) {
      listed[i].name[sizeof listed[i].name - 1] = '\0';
      find_or_add(listed[i].name);
    }
    before = xcalloc(n_ports, sizeof *before);
    for (size_t i = 0; i < n_ports; i++) {
      before[i] = ports[i].number;
      ports[i].number = 0;
    }
    for (uint32_t i = 0; i < reply.ports; i++) {
      struct port* port = find(listed[i].name);

      if (port) {
        port->number = listed[i].number;
      }
    }
    for (size_t i = 0; i < n_ports; i++) {
      ports[i].has_changed = ports[i].number != before[i];
      has_changed = has_changed || ports[i].has_changed;
    }
    free(before);
  }
  free(listed);
  return has_changed;
}

uint32_t megaflow_ports_id(const char* name) {
  const struct port* port = find(name);

  return port && port->number ? port - ports + 1 : 0;
}

/* Every request matches in_port, which is in the lowest bits of the first word. */
static struct megaflows_pair* first_pair(struct megaflows_add* add) {
  return (struct megaflows_pair*)(add + 1);
}

static struct megaflows_action* first_action(struct megaflows_add* add) {
  return (struct megaflows_action*)(first_pair(add) + count_1bits(add->words));
}

static const struct port* in_port_of(struct megaflows_add* add) {
  return &ports[(first_pair(add)->value & UINT16_MAX) - 1];
}

bool megaflow_ports_concern(const struct megaflows_add* request) {
  struct megaflows_add* add = CONST_CAST(struct megaflows_add*, request);
  const struct megaflows_action* action = first_action(add);

  if (in_port_of(add)->has_changed) {
    return true;
  }
  for (const struct megaflows_action* end = action + add->actions; action < end; action++) {
    if (action->type == MEGAFLOWS_OUTPUT && ports[action->argument - 1].has_changed) {
      return true;
    }
  }
  return false;
}

bool megaflow_ports_number(struct megaflows_add* add) {
  struct megaflows_action* action = first_action(add);
  uint32_t in_port = in_port_of(add)->number;

  if (!in_port) {
    return false;
  }
  first_pair(add)->value = (first_pair(add)->value & ~(uint64_t)UINT16_MAX) | in_port;
  for (const struct megaflows_action* end = action + add->actions; action < end; action++) {
    if (action->type == MEGAFLOWS_OUTPUT) {
      action->argument = ports[action->argument - 1].number;
      if (!action->argument) {
        return false;
      }
    }
  }
  return true;
}
