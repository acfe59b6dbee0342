/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "relay.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/xfrm.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "control/xfrm/protocol.h"
#include "memory.h"
#include "pending.h"

#define PATH_FILE "/etc/penumbra/xfrm-socket"

enum {
  MOST_DATAGRAM = 65536,
  RETRY_MS = 100,    /* between two attempts to connect */
  PATIENCE_MS = 2000 /* that a request waits for the keeper */
};

struct relay {
  pthread_mutex_t lock; /* guards the fields up to `text` */
  int keeper;           /* connection, or -1 */
  uint32_t port, groups;
  int text;

  int program; /* our end of the pair */
  struct sockaddr_un address;
  struct pending* pending; /* the requests of the last datagram that are not answered */
  unsigned char* buffer;
  struct relay* next; /* of the idle ones */
};

/* Relays whose program has closed its end. They are used again and never freed, because another thread of the program
 * may just have looked one up by a descriptor. */
static struct relay* idle;
static pthread_mutex_t idle_lock = PTHREAD_MUTEX_INITIALIZER;

/* All sockets of the program share what they have sent, because daemons send requests by one socket and hear of events
 * by another. */
static struct memory sent;
static pthread_mutex_t sent_lock = PTHREAD_MUTEX_INITIALIZER;

const char* relay_socket_path(void) {
  static __thread char path[sizeof(((struct sockaddr_un*)0)->sun_path)];
  struct stat status;
  ssize_t got;
  int file;
  if (getauxval(AT_SECURE) != 0) return NULL;
  file = open(PATH_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return NULL;
  got = fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == 0 && (status.st_mode & 022) == 0
            ? read(file, path, sizeof path - 1)
            : -1;
  close(file);
  if (got <= 0 || path[0] != '/') return NULL;
  path[got] = '\0';
  path[strcspn(path, "\n")] = '\0';
  return path;
}

/* Tells the keeper the settings of the socket. The caller has the lock. */
static int say_hello(struct relay* relay) {
  struct {
    struct nlmsghdr head;
    struct penumbra_xfrm_hello hello;
  } message;
  if (relay->keeper < 0) return 0;
  memset(&message, 0, sizeof message);
  message.head.nlmsg_len = sizeof message;
  message.head.nlmsg_type = PENUMBRA_XFRM_HELLO;
  message.head.nlmsg_flags = NLM_F_REQUEST;
  message.hello.port = relay->port;
  message.hello.groups = relay->groups;
  message.hello.options = relay->text ? PENUMBRA_XFRM_TEXT : 0;
  return send(relay->keeper, &message, sizeof message, MSG_NOSIGNAL) == (ssize_t)sizeof message ? 0 : -1;
}

int relay_bind(struct relay* relay, uint32_t port, uint32_t groups) {
  pthread_mutex_lock(&relay->lock);
  if (port != 0) relay->port = port;
  relay->groups = groups;
  say_hello(relay);
  pthread_mutex_unlock(&relay->lock);
  return 0;
}

int relay_join(struct relay* relay, uint32_t group, int is_member) {
  pthread_mutex_lock(&relay->lock);
  relay->groups = is_member ? relay->groups | group : relay->groups & ~group;
  say_hello(relay);
  pthread_mutex_unlock(&relay->lock);
  return 0;
}

int relay_want_text(struct relay* relay, int wanted) {
  pthread_mutex_lock(&relay->lock);
  relay->text = wanted;
  say_hello(relay);
  pthread_mutex_unlock(&relay->lock);
  return 0;
}

uint32_t relay_port(struct relay* relay) {
  uint32_t port;
  pthread_mutex_lock(&relay->lock);
  port = relay->port;
  pthread_mutex_unlock(&relay->lock);
  return port;
}

uint32_t relay_groups(struct relay* relay) {
  uint32_t groups;
  pthread_mutex_lock(&relay->lock);
  groups = relay->groups;
  pthread_mutex_unlock(&relay->lock);
  return groups;
}

static int connect_keeper(struct relay* relay) {
  const int keeper = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (keeper < 0) return 0;
  if (connect(keeper, (const struct sockaddr*)&relay->address, sizeof relay->address) != 0) {
    close(keeper);
    return 0;
  }
  pthread_mutex_lock(&relay->lock);
  relay->keeper = keeper;
  say_hello(relay);
  pthread_mutex_unlock(&relay->lock);
  return 1;
}

static void to_program(struct relay* relay, const void* bytes, size_t count) {
  send(relay->program, bytes, count, MSG_NOSIGNAL);
}

/* Answers a request in place of the keeper. An entry that is to be removed is gone already. */
static void refuse(struct relay* relay, const struct nlmsghdr* request, int error) {
  struct {
    struct nlmsghdr head;
    struct nlmsgerr error;
  } message;
  memset(&message, 0, sizeof message);
  message.head.nlmsg_len = sizeof message;
  message.head.nlmsg_type = NLMSG_ERROR;
  message.head.nlmsg_flags = NLM_F_CAPPED;
  message.head.nlmsg_seq = request->nlmsg_seq;
  message.head.nlmsg_pid = relay_port(relay);
  message.error.error = -error;
  if (request->nlmsg_type == XFRM_MSG_DELSA) message.error.error = -ESRCH;
  if (request->nlmsg_type == XFRM_MSG_DELPOLICY) message.error.error = -ENOENT;
  if (request->nlmsg_type == XFRM_MSG_FLUSHSA || request->nlmsg_type == XFRM_MSG_FLUSHPOLICY) message.error.error = 0;
  message.error.msg = *request;
  to_program(relay, &message, sizeof message);
}

/* Refuses all requests that are not answered. */
static void refuse_pending(struct relay* relay, int error) {
  while (relay->pending != NULL) {
    const struct pending* const first = relay->pending;
    /* An answered request lacks only an acknowledgement that the program did not ask for. */
    if (!first->is_silent || !first->has_answer) refuse(relay, first->request, error);
    pthread_mutex_lock(&sent_lock);
    memory_learn(&sent, first->request, error);
    pthread_mutex_unlock(&sent_lock);
    pending_remove_first(&relay->pending);
  }
}

static void lose_keeper(struct relay* relay) {
  pthread_mutex_lock(&relay->lock);
  if (relay->keeper >= 0) close(relay->keeper);
  relay->keeper = -1;
  pthread_mutex_unlock(&relay->lock);
  refuse_pending(relay, ECONNRESET);
}

/* Gives a new keeper the program's policies, and lets the program negotiate its SAs again: their keys are lost. */
static void resync(struct relay* relay) {
  struct memory_policy* policy;
  char expire[512];
  size_t length;
  pthread_mutex_lock(&sent_lock);
  for (policy = sent.policies; policy != NULL; policy = policy->next) {
    policy->message->nlmsg_type = XFRM_MSG_UPDPOLICY;
    policy->message->nlmsg_flags = NLM_F_REQUEST;
    policy->message->nlmsg_seq = UINT32_MAX; /* No program waits for an answer to this number. */
    send(relay->keeper, policy->message, policy->message->nlmsg_len, MSG_NOSIGNAL);
  }
  if ((relay_groups(relay) & (1U << (XFRMNLGRP_EXPIRE - 1))) != 0) {
    while ((length = memory_take_expire(&sent, expire, sizeof expire)) != 0) to_program(relay, expire, length);
  }
  pthread_mutex_unlock(&sent_lock);
}

static long now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int try_again(struct relay* relay) {
  if (!connect_keeper(relay)) return 0;
  resync(relay);
  return 1;
}

/* Waits for a keeper while a request is pending. */
static int await_keeper(struct relay* relay) {
  const long deadline = now_ms() + PATIENCE_MS;
  while (relay->keeper < 0 && !try_again(relay)) {
    if (now_ms() >= deadline) return 0;
    poll(NULL, 0, RETRY_MS);
  }
  return 1;
}

/* Carries one datagram of the program. Returns 0 when the program has closed its end (`has_hung_up`). */
static int carry_request(struct relay* relay, int has_hung_up) {
  const ssize_t got = recv(relay->program, relay->buffer, MOST_DATAGRAM, 0);
  if (got < 0) return errno == EINTR;
  if (got == 0) return !has_hung_up; /* An empty datagram reads like the end. */
  if ((size_t)got < sizeof(struct nlmsghdr)) return 1;
  if (pending_add(&relay->pending, relay->buffer, (size_t)got) != 0) {
    refuse(relay, (const struct nlmsghdr*)relay->buffer, ENOBUFS);
  } else if (!await_keeper(relay)) {
    refuse_pending(relay, ECONNREFUSED);
  } else if (send(relay->keeper, relay->buffer, (size_t)got, MSG_NOSIGNAL) != got) {
    lose_keeper(relay);
  }
  explicit_bzero(relay->buffer, (size_t)got);
  return 1;
}

static void carry_reply(struct relay* relay) {
  const ssize_t got = recv(relay->keeper, relay->buffer, MOST_DATAGRAM, 0);
  int passes_on;
  if (got < 0 && errno == EINTR) return;
  if (got <= 0) {
    lose_keeper(relay);
    return;
  }
  pthread_mutex_lock(&sent_lock);
  passes_on = pending_take_answer(&relay->pending, relay->buffer, (size_t)got, &sent);
  pthread_mutex_unlock(&sent_lock);
  if (passes_on) to_program(relay, relay->buffer, (size_t)got);
  explicit_bzero(relay->buffer, (size_t)got);
}

static void retire(struct relay* relay) {
  pthread_mutex_lock(&idle_lock);
  relay->next = idle;
  idle = relay;
  pthread_mutex_unlock(&idle_lock);
}

static void* run(void* argument) {
  struct relay* relay = argument;
  for (;;) {
    /* The program's next datagram waits for the answers to the last one. So neither end waits for the other to read. */
    struct pollfd waits[2] = {{relay->pending == NULL ? relay->program : -1, POLLIN, 0}, {relay->keeper, POLLIN, 0}};
    poll(waits, 2, relay->keeper < 0 ? RETRY_MS : -1);
    if (relay->keeper < 0) {
      try_again(relay);
    } else if (waits[1].revents != 0) {
      carry_reply(relay);
    }
    if (waits[0].revents != 0 && !carry_request(relay, (waits[0].revents & POLLHUP) != 0)) break;
  }
  pthread_mutex_lock(&relay->lock);
  if (relay->keeper >= 0) close(relay->keeper);
  relay->keeper = -1;
  pthread_mutex_unlock(&relay->lock);
  close(relay->program);
  retire(relay);
  return NULL;
}

/* As in Linux, the first socket of a process has its number as port. */
static uint32_t new_port(void) {
  static uint32_t count;
  const uint32_t number = __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
  return number == 0 ? (uint32_t)getpid() : 0x80000000U + (number << 16) + ((uint32_t)getpid() & 0xFFFF);
}

static int start_thread(struct relay* relay) {
  sigset_t all, before;
  pthread_t thread;
  int error;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before); /* Signals are the program's. */
  error = pthread_create(&thread, NULL, run, relay);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (error == 0) pthread_detach(thread);
  return error;
}

static struct relay* new_relay(void) {
  struct relay* const relay = calloc(1, sizeof *relay);
  void* const buffer = mmap(NULL, MOST_DATAGRAM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (relay == NULL || buffer == MAP_FAILED) {
    if (buffer != MAP_FAILED) munmap(buffer, MOST_DATAGRAM);
    free(relay);
    errno = ENOMEM;
    return NULL;
  }
  mlock(buffer, MOST_DATAGRAM);
  madvise(buffer, MOST_DATAGRAM, MADV_DONTDUMP);
  relay->buffer = buffer;
  relay->keeper = -1;
  pthread_mutex_init(&relay->lock, NULL);
  return relay;
}

/* Returns an idle relay, or a new one, or null with errno. */
static struct relay* take_relay(void) {
  struct relay* relay;
  pthread_mutex_lock(&idle_lock);
  relay = idle;
  if (relay != NULL) idle = relay->next;
  pthread_mutex_unlock(&idle_lock);
  return relay != NULL ? relay : new_relay();
}

struct relay* relay_start(int descriptor, const char* path) {
  struct relay* const relay = take_relay();
  int error;
  if (relay == NULL) return NULL;
  /* Our end waits, whatever the program asked for its end. */
  fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK);
  pthread_mutex_lock(&relay->lock);
  relay->port = new_port();
  relay->groups = 0;
  relay->text = 0;
  pthread_mutex_unlock(&relay->lock);
  relay->program = descriptor;
  memset(&relay->address, 0, sizeof relay->address);
  relay->address.sun_family = AF_UNIX;
  strncpy(relay->address.sun_path, path, sizeof relay->address.sun_path - 1);
  connect_keeper(relay);
  error = start_thread(relay);
  if (error == 0) return relay;
  if (relay->keeper >= 0) close(relay->keeper);
  relay->keeper = -1;
  retire(relay);
  errno = error;
  return NULL;
}
