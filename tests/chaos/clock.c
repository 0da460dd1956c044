/* A wall clock that jumps, for processes that preload this library.

   CHAOS_CLOCK names a file whose first eight bytes are the seconds by which the clock is ahead, as a
   signed integer; whoever writes there lets the clock of all these processes jump at once. As on a
   machine whose clock is set, monotonic clocks go on, and a wait until a moment of the wall clock
   ends when that clock shows it. Moments of monotonic clocks are told from those by their size. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define BEFORE_1980 315532800 /* no machine is up for so long */
/* The C library's own function of a name, of the version that new programs are bound to. */
#define REAL(name, version)                           \
  ({                                                  \
    static void *found;                               \
    if (!found) found = find(#name, version);         \
    (__typeof__(&name))found;                         \
  })
static const volatile int64_t *ahead_s;

static void *find(const char *name, const char *version) {
  void *found = dlvsym(RTLD_NEXT, name, version);
  return found ? found : dlsym(RTLD_NEXT, name);
}

__attribute__((constructor)) static void open_clock(void) {
  const char *file = getenv("CHAOS_CLOCK");
  int descriptor = file ? open(file, O_RDONLY | O_CLOEXEC) : -1;
  if (descriptor < 0) return;
  void *page = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, descriptor, 0);
  if (page != MAP_FAILED) ahead_s = page;
  close(descriptor);
}

static int64_t ahead(void) { return ahead_s ? *ahead_s : 0; }

static const struct timespec *to_machine(const struct timespec *moment, struct timespec *shifted) {
  if (!moment || moment->tv_sec < BEFORE_1980) return moment;
  *shifted = *moment;
  shifted->tv_sec -= ahead();
  if (shifted->tv_sec < 0) shifted->tv_sec = 0;
  return shifted;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  int failed = REAL(clock_gettime, "GLIBC_2.17")(clock, now);
  if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += ahead();
  return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  struct timespec precise;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &precise);
  now->tv_sec = precise.tv_sec;
  now->tv_usec = precise.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}

int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                           const struct timespec *moment) {
  struct timespec shifted;
  return REAL(pthread_cond_timedwait, "GLIBC_2.3.2")(condition, mutex, to_machine(moment, &shifted));
}

int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
                           const struct timespec *moment) {
  struct timespec shifted;
  return REAL(pthread_cond_clockwait, "GLIBC_2.30")(condition, mutex, clock,
                                                    to_machine(moment, &shifted));
}

int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *moment) {
  struct timespec shifted;
  return REAL(pthread_mutex_timedlock, "GLIBC_2.2.5")(mutex, to_machine(moment, &shifted));
}

int sem_timedwait(sem_t *semaphore, const struct timespec *moment) {
  struct timespec shifted;
  return REAL(sem_timedwait, "GLIBC_2.2.5")(semaphore, to_machine(moment, &shifted));
}

long syscall(long number, ...) {
  long argument[6];
  va_list given;
  va_start(given, number);
  for (int place = 0; place < 6; place++) argument[place] = va_arg(given, long);
  va_end(given);
  struct timespec shifted;
  if (number == SYS_futex && ((int)argument[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET &&
      ((int)argument[1] & FUTEX_CLOCK_REALTIME))
    argument[3] = (long)to_machine((const struct timespec *)argument[3], &shifted);
  return REAL(syscall, "GLIBC_2.2.5")(number, argument[0], argument[1], argument[2], argument[3],
                                      argument[4], argument[5]);
}
