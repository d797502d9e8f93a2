/** Attacks by system calls that the filter refuses, and by ways around the filter. */
import { type Attack, cannot, NAMESPACES, testAttacks } from "../support/attack.ts";

const isRoot = Deno.uid() === 0;

/** What works for root alone; where the host would be changed by it, nowhere. */
const forRoot = isRoot ? "ok" : cannot("only root may");

const calls: readonly Attack[] = [
  {
    deed: "handle page faults of the kernel by userfaultfd",
    python: "os.close(call('userfaultfd', 1))",
    under: NAMESPACES,
    inside: "EPERM",
  },
  {
    deed: "make a map by bpf",
    python: "os.close(call('bpf', 0, struct.pack('IIIII', 2, 4, 4, 1, 0) + bytes(100), 72))",
    outside: forRoot,
    inside: "EPERM",
  },
  {
    deed: "measure by perf_event_open",
    python: `
attributes = bytearray(struct.pack('IIQ', 1, 112, 0) + bytes(96))
os.close(call('perf_event_open', bytes(attributes), 0, -1, -1, 0))`,
    outside: forRoot,
    inside: "EPERM",
  },
  {
    deed: "reach a keyring of its user on the host",
    python: "call('keyctl', 0, -4, 1, 0, 0)",
    inside: "EPERM",
  },
  {
    deed: "add a key",
    python: "call('keyctl', 3, call('add_key', 'user', 'x', b'y', 1, -2), 0, 0, 0)",
    inside: "EPERM",
  },
  {
    deed: "request a key",
    python: "call('request_key', 'user', 'minisandbox', None, 0)",
    outside: "ENOKEY",
    inside: "EPERM",
  },
  {
    deed: "use io_uring, which no filter sees into",
    python: "os.close(call('io_uring_setup', 1, bytes(120)))",
    outside: cannot("some hosts have it off"),
    inside: "ENOSYS",
  },
  {
    deed: "open a file by its handle (CVE-2014-3519's kind, shocker)",
    python: `
handle = ctypes.create_string_buffer(struct.pack('Ii', 128, 0) + bytes(128))
mount = ctypes.c_int()
check(libc.name_to_handle_at(-100, b"/tmp", handle, ctypes.byref(mount), 0))
os.close(check(libc.open_by_handle_at(os.open("/tmp", 0), handle, 0)))`,
    outside: forRoot,
    inside: "EPERM",
  },
  {
    deed: "compare what two processes share by kcmp",
    python: "call('kcmp', os.getpid(), os.getpid(), 0, 0, 0)",
    outside: cannot("not in every kernel"),
    inside: "EPERM",
  },
  {
    deed: "watch file systems by fanotify",
    python: "os.close(call('fanotify_init', 0, 0))",
    outside: forRoot,
    inside: "EPERM",
  },
  {
    deed: "read the kernel's log",
    python: "call('syslog', 3, ctypes.create_string_buffer(4096), 4096)",
    outside: cannot("a setting decides"),
    inside: "EPERM",
  },
  ...[
    ["load a kernel by kexec_load", "call('kexec_load', 0, 0, None, 0)"],
    ["load a kernel by kexec_file_load", "call('kexec_file_load', -1, -1, 0, None, 0)"],
    ["load a module by init_module", "call('init_module', b'', 0, '')"],
    ["load a module by finit_module", "call('finit_module', 0, '', 0)"],
    ["remove a module", "call('delete_module', 'minisandbox', 0)"],
    ["restart the host", "call('reboot', 0, 0, 0, None)"],
    ["swap to a file", "call('swapon', '/tmp/none', 0)"],
    ["stop swapping to a file", "call('swapoff', '/tmp/none')"],
    ["turn accounting on", "call('acct', '/tmp/none')"],
    ["change a quota", "call('quotactl', 0x800002, '/dev/vda', 0, None)"],
    ["set the clock by settimeofday", "call('settimeofday', struct.pack('QQ', 1, 1), None)"],
    ["set the clock by clock_settime", "call('clock_settime', 0, struct.pack('QQ', 1, 1))"],
    ["hang the terminal up", "call('vhangup')"],
    ["move another's pages", "call('migrate_pages', 1, 0, None, None)"],
  ].map(([deed, python]): Attack => ({
    deed: deed!,
    python: python!,
    outside: cannot("it would change the host"),
    inside: "EPERM",
  })),
  {
    deed: "adjust the clock",
    python: "check(libc.adjtimex(struct.pack('IxxxxQ', 1, 1) + bytes(200)))",
    outside: cannot("it would change the host"),
    inside: "EPERM",
  },
  {
    deed: "turn the randomization of addresses off",
    python: "call('personality', 0x0040000)",
    outside: "ok",
    inside: "EPERM",
  },
  {
    deed: "go around the filter by the x32 interface",
    python: `
if platform.machine() != 'x86_64':
    raise OSError(errno.ENOSYS, '')
call(0x40000000 | 39)`,
    outside: cannot("few kernels have it"),
    inside: "ENOSYS",
  },
  {
    deed: "go around the filter by calls of 32-bit programs",
    python: `
if platform.machine() != 'x86_64':
    raise OSError(errno.ENOSYS, '')
code = mmap.mmap(-1, 4096, prot=7)
code.write(bytes.fromhex('5389f8cd805bc3')) # push rbx; mov eax, edi; int 0x80; pop rbx; ret
run = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
result = run(20) # getpid
if result < 0:
    raise OSError(-result, '')
return result == os.getpid()`,
    outside: cannot("some kernels have them off"),
    inside: "ENOSYS",
  },
  {
    deed: "go around the filter by numbers beyond its range",
    python: "call(0xffffffffffffffff)",
    outside: "ENOSYS",
    inside: "ENOSYS",
  },
  {
    deed: "type into a terminal by TIOCSTI (CVE-2017-5226)",
    python: "fcntl.ioctl(os.openpty()[1], 0x5412, b'x')",
    outside: cannot("a setting decides"),
    inside: "EPERM",
  },
  {
    deed: "type into a terminal by TIOCSTI with high bits set (CVE-2019-10063)",
    python: "call('ioctl', os.openpty()[1], 0x5412 | 1 << 32, b'x')",
    outside: cannot("a setting decides"),
    inside: "EPERM",
  },
  {
    deed: "type into a console by TIOCLINUX, with high bits set or not (CVE-2023-28100)",
    python: `
pty = os.openpty()[1]
return [attempt(call, 'ioctl', pty, 0x541c | high << 32, b'\\3') for high in (0, 1, 0xffffffff)]`,
    outside: "['ENOTTY', 'ENOTTY', 'ENOTTY']",
    inside: "['EPERM', 'EPERM', 'EPERM']",
  },
];
testAttacks(calls);

/** Families that a program may load modules of the kernel by. */
const FAMILIES = {
  TIPC: 30,
  ALG: 38,
  VSOCK: 40,
  CAN: 29,
  BLUETOOTH: 31,
  RDS: 21,
  XDP: 44,
  KCM: 41,
};
const numbers = JSON.stringify(Object.values(FAMILIES));

testAttacks([
  {
    deed: `open a socket of ${Object.keys(FAMILIES).join(", ")}`,
    python: `
return {attempt(lambda: socket.socket(it, socket.SOCK_SEQPACKET, 0)) for it in ${numbers}}`,
    outside: cannot("it may load a module"),
    inside: "{'EAFNOSUPPORT'}",
  },
  {
    deed: `open a pair of sockets of ${Object.keys(FAMILIES).join(", ")}`,
    python: `
pair = (ctypes.c_int * 2)()
return {attempt(lambda: check(libc.socketpair(it, 5, 0, pair))) for it in ${numbers}}`,
    outside: cannot("it may load a module"),
    inside: "{'EAFNOSUPPORT'}",
  },
]);
