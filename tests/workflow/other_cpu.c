/* Preloaded, it makes the instruction CPUID answer as another x86-64 processor's would: OTHER_CPU=amd (AMD EPYC 7003),
 * avx2 (without AVX-512 and AMX), or both, amd-avx2. Libraries that choose their code by it then choose as they would there.
 *
 * The kernel lets CPUID fault (arch_prctl ARCH_SET_CPUID, on processors and hypervisors that can); the handler of that
 * fault answers. What reads /proc/cpuinfo still sees the real processor.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define ARCH_SET_CPUID 0x1012
#define EPYC 0x00A00F11 /* family, model, stepping */
#define NO_FAULTING 99

typedef struct { unsigned a, b, c, d; } Registers;

static int is_amd, is_avx2;

static long let_cpuid_run(int yes) { return syscall(SYS_arch_prctl, ARCH_SET_CPUID, yes); }

static void set_vendor(Registers *r) {
  memcpy(&r->b, "Auth", 4);
  memcpy(&r->d, "enti", 4);
  memcpy(&r->c, "cAMD", 4);
}

static void without_avx512(unsigned leaf, unsigned sub, Registers *r) {
  if (leaf == 7 && sub == 0) {
    r->b &= ~(1u << 16 | 1u << 17 | 1u << 21 | 1u << 26 | 1u << 27 | 1u << 28 | 1u << 30 | 1u << 31);
    r->c &= ~(1u << 1 | 1u << 6 | 1u << 11 | 1u << 12 | 1u << 14);
    r->d &= ~(1u << 2 | 1u << 3 | 1u << 8 | 1u << 22 | 1u << 23 | 1u << 24 | 1u << 25); /* the last three are AMX */
  } else if ((leaf == 7 && sub == 1) || leaf == 0x1d || leaf == 0x1e) {
    *r = (Registers){0, 0, 0, 0};
  }
}

static void as_amd(unsigned leaf, unsigned sub, Registers *r) {
  static const Registers caches[] = {{0x4121, 0x01c0003f, 0x3f, 0},    /* L1 data, 32 KiB */
                                     {0x4122, 0x01c0003f, 0x3f, 0},    /* L1 instructions */
                                     {0x4143, 0x01c0003f, 0x3ff, 0},   /* L2, 512 KiB */
                                     {0x4163, 0x03c0003f, 0x7fff, 0}}; /* L3, 32 MiB */
  switch (leaf) {
  case 0: r->a = 0x10; set_vendor(r); break;
  case 1: r->a = EPYC; break;
  case 2: case 4: *r = (Registers){0, 0, 0, 0}; break;
  case 0x80000000: r->a = 0x80000020; set_vendor(r); break;
  case 0x80000001: r->a = EPYC; r->c = (r->c | 1u << 5 | 1u << 6 | 1u << 7 | 1u << 22) & ~(1u << 11 | 1u << 16 | 1u << 21); break;
  case 0x80000005: *r = (Registers){0xff40ff40, 0xff40ff40, 0x20080140, 0x20080140}; break;
  case 0x80000006: *r = (Registers){0x48002200, 0x68004200, 0x02006140, 0x00409140}; break;
  case 0x80000008: *r = (Registers){0x3030, 0, 0x1001, 0}; break;
  case 0x8000001d: *r = sub < 4 ? caches[sub] : (Registers){0, 0, 0, 0}; break;
  case 0x8000001e: *r = (Registers){0, 0x100, 0, 0}; break;
  }
}

static void answer(int number, siginfo_t *info, void *context) {
  (void)number, (void)info;
  greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;
  const unsigned char *code = (const unsigned char *)g[REG_RIP];
  if (code[0] != 0x0f || code[1] != 0xa2) _exit(128 + SIGSEGV); /* another fault than CPUID's */
  unsigned leaf = (unsigned)g[REG_RAX], sub = (unsigned)g[REG_RCX];
  Registers r = {leaf, 0, sub, 0};
  let_cpuid_run(1);
  __asm__ volatile("cpuid" : "+a"(r.a), "=b"(r.b), "+c"(r.c), "=d"(r.d));
  let_cpuid_run(0);
  if (is_avx2) without_avx512(leaf, sub, &r);
  if (is_amd) as_amd(leaf, sub, &r);
  g[REG_RAX] = r.a, g[REG_RBX] = r.b, g[REG_RCX] = r.c, g[REG_RDX] = r.d;
  g[REG_RIP] += 2;
}

/* Others' handlers of that signal stay out. */
int sigaction(int number, const struct sigaction *new, struct sigaction *old) {
  static int (*real)(int, const struct sigaction *, struct sigaction *);
  if (!real) real = dlsym(RTLD_NEXT, "sigaction");
  if (number == SIGSEGV && new && new->sa_sigaction != answer) {
    if (old) memset(old, 0, sizeof *old);
    return 0;
  }
  return real(number, new, old);
}

int __sigaction(int number, const struct sigaction *new, struct sigaction *old) { return sigaction(number, new, old); }

sighandler_t signal(int number, sighandler_t handler) {
  static sighandler_t (*real)(int, sighandler_t);
  if (!real) real = dlsym(RTLD_NEXT, "signal");
  return number == SIGSEGV ? SIG_DFL : real(number, handler);
}

__attribute__((constructor(101))) static void begin(void) {
  const char *cpu = getenv("OTHER_CPU");
  if (!cpu) return;
  is_amd = strstr(cpu, "amd") != NULL;
  is_avx2 = strstr(cpu, "avx2") != NULL;
  struct sigaction handler = {.sa_sigaction = answer, .sa_flags = SA_SIGINFO | SA_NODEFER};
  sigaction(SIGSEGV, &handler, NULL);
  if (let_cpuid_run(0)) _exit(NO_FAULTING);
}
