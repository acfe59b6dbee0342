/* SPDX-License-Identifier: Apache-2.0
 *
 * Connects the XFRM netlink sockets of a program to Penumbra's keeper (docs/ipsec-control.md). The program is not
 * changed; the dynamic linker loads this library into it (LD_PRELOAD).
 *
 * The program gets one end of a socket pair. A thread carries datagrams between the other end and the keeper
 * (relay.c). The descriptor so survives a restart of the keeper, and stays in the epoll sets of the program. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "relay.h"

enum { MOST_DESCRIPTORS = 65536 };

/* The last relay of each descriptor of the program, or null. */
static struct relay* relays[MOST_DESCRIPTORS];
/* The inode of the relay's socket. Programs close descriptors in many ways (close_range, dup2, system calls), and a
 * child of vfork() closes descriptors that its parent keeps. So only the inode says whether the relay still exists. */
static ino_t inodes[MOST_DESCRIPTORS];

static struct relay* relay_of(int descriptor) {
  struct relay* relay;
  struct stat status;
  const int error = errno;
  if (descriptor < 0 || descriptor >= MOST_DESCRIPTORS) return NULL;
  relay = __atomic_load_n(&relays[descriptor], __ATOMIC_ACQUIRE);
  if (relay == NULL) return NULL;
  if (fstat(descriptor, &status) == 0 && status.st_ino == inodes[descriptor]) return relay;
  errno = error;
  return NULL;
}

/* Finds the C library's function of a name, once. */
#define REAL(name)                                            \
  ({                                                          \
    static __typeof__(&name) function;                        \
    if (function == NULL) function = dlsym(RTLD_NEXT, #name); \
    function;                                                 \
  })

/* Makes the program's end of a pair and starts the relay of the other end, which is closed in programs that this one
 * starts. The relay ends when its end reads the end of the stream. */
static int open_relay(int type, const char* path) {
  struct relay* relay = NULL;
  struct stat status;
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | (type & SOCK_NONBLOCK), 0, pair) != 0) return -1;
  if (pair[0] >= MOST_DESCRIPTORS) {
    errno = EMFILE;
  } else if (fstat(pair[0], &status) == 0) {
    if ((type & SOCK_CLOEXEC) == 0) fcntl(pair[0], F_SETFD, 0);
    relay = relay_start(pair[1], path);
  }
  if (relay == NULL) {
    const int error = errno;
    close(pair[0]);
    close(pair[1]);
    errno = error;
    return -1;
  }
  inodes[pair[0]] = status.st_ino;
  __atomic_store_n(&relays[pair[0]], relay, __ATOMIC_RELEASE);
  return pair[0];
}

int socket(int domain, int type, int protocol) {
  if (domain == AF_NETLINK && protocol == NETLINK_XFRM) {
    const char* path = relay_socket_path();
    if (path != NULL) return open_relay(type, path);
  }
  return REAL(socket)(domain, type, protocol);
}

int bind(int descriptor, const struct sockaddr* address, socklen_t length) {
  struct relay* relay = relay_of(descriptor);
  struct sockaddr_nl netlink;
  if (relay == NULL) return REAL(bind)(descriptor, address, length);
  if (length < sizeof netlink) {
    errno = EINVAL;
    return -1;
  }
  memcpy(&netlink, address, sizeof netlink);
  return relay_bind(relay, netlink.nl_pid, netlink.nl_groups);
}

int getsockname(int descriptor, struct sockaddr* address, socklen_t* length) {
  struct relay* relay = relay_of(descriptor);
  struct sockaddr_nl netlink = {.nl_family = AF_NETLINK};
  if (relay == NULL) return REAL(getsockname)(descriptor, address, length);
  netlink.nl_pid = relay_port(relay);
  netlink.nl_groups = relay_groups(relay);
  memcpy(address, &netlink, *length < sizeof netlink ? *length : sizeof netlink);
  *length = sizeof netlink;
  return 0;
}

int connect(int descriptor, const struct sockaddr* address, socklen_t length) {
  return relay_of(descriptor) != NULL ? 0 : REAL(connect)(descriptor, address, length);
}

int setsockopt(int descriptor, int level, int option, const void* value, socklen_t length) {
  struct relay* relay = relay_of(descriptor);
  int number = 0;
  if (relay == NULL || level != SOL_NETLINK) return REAL(setsockopt)(descriptor, level, option, value, length);
  if (length >= sizeof number) memcpy(&number, value, sizeof number);
  if (option == NETLINK_ADD_MEMBERSHIP && number >= 1 && number <= 30) return relay_join(relay, 1U << (number - 1), 1);
  if (option == NETLINK_DROP_MEMBERSHIP && number >= 1 && number <= 30) return relay_join(relay, 1U << (number - 1), 0);
  if (option == NETLINK_EXT_ACK) return relay_want_text(relay, number != 0);
  return 0;
}

ssize_t sendto(int descriptor, const void* bytes, size_t count, int flags, const struct sockaddr* address,
               socklen_t length) {
  if (relay_of(descriptor) == NULL) return REAL(sendto)(descriptor, bytes, count, flags, address, length);
  return REAL(send)(descriptor, bytes, count, flags | MSG_NOSIGNAL);
}

ssize_t sendmsg(int descriptor, const struct msghdr* message, int flags) {
  struct msghdr plain = *message;
  if (relay_of(descriptor) == NULL) return REAL(sendmsg)(descriptor, message, flags);
  plain.msg_name = NULL;
  plain.msg_namelen = 0;
  return REAL(sendmsg)(descriptor, &plain, flags | MSG_NOSIGNAL);
}

/* Programs check that a datagram comes from the kernel, whose address has the port 0. */
static void set_kernel(void* address, socklen_t* length) {
  const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
  if (address == NULL || length == NULL) return;
  memcpy(address, &kernel, *length < sizeof kernel ? *length : sizeof kernel);
  *length = sizeof kernel;
}

ssize_t recvfrom(int descriptor, void* restrict bytes, size_t count, int flags, struct sockaddr* restrict address,
                 socklen_t* restrict length) {
  ssize_t got;
  if (relay_of(descriptor) == NULL) return REAL(recvfrom)(descriptor, bytes, count, flags, address, length);
  got = REAL(recv)(descriptor, bytes, count, flags);
  if (got >= 0) set_kernel(address, length);
  return got;
}

/* The C library's form of recvfrom() for programs that are compiled with checks of buffers. */
ssize_t __recvfrom_chk(int descriptor, void* restrict bytes, size_t count, size_t room, int flags,
                       struct sockaddr* restrict address, socklen_t* restrict length) {
  static ssize_t (*checked)(int, void*, size_t, size_t, int, struct sockaddr*, socklen_t*);
  if (relay_of(descriptor) != NULL)
    return recvfrom(descriptor, bytes, count < room ? count : room, flags, address, length);
  if (checked == NULL) *(void**)&checked = dlsym(RTLD_NEXT, "__recvfrom_chk");
  return checked(descriptor, bytes, count, room, flags, address, length);
}

ssize_t recvmsg(int descriptor, struct msghdr* message, int flags) {
  void* const name = message->msg_name;
  socklen_t length = message->msg_namelen;
  ssize_t got;
  if (relay_of(descriptor) == NULL) return REAL(recvmsg)(descriptor, message, flags);
  message->msg_name = NULL;
  message->msg_namelen = 0;
  got = REAL(recvmsg)(descriptor, message, flags);
  if (got >= 0) set_kernel(name, &length);
  message->msg_name = name;
  message->msg_namelen = length;
  return got;
}
