/** What works in each mode, as data: tests hold it against sandboxes, and docs/modes.md shows it. */
import { PYTHON } from "./attack.ts";

/** Ways in which sandboxes have ids, and the columns of the table. */
export const MODES = {
  root: "started by root",
  subordinate: "by a user with subordinate ids",
  single: "by any other user",
  none: "by root, `--userns off`",
  docker: "by root in a Docker container",
} as const;

/** A mode. */
export type Mode = keyof typeof MODES;

/** Whether it works; with a condition under which it does, or a reason for which it does not. */
export type Cell =
  | { readonly works: true; readonly where?: "cgroup" }
  | { readonly works: false; readonly because: string };

/** One row. */
export interface Feature {
  readonly name: string;
  readonly args?: readonly string[];
  /** Prints "ok" as its last line where it works, and does not where it does not. */
  readonly script: string;
  readonly cells: Readonly<Record<Mode, Cell>>;
}

const yes: Cell = { works: true };
const no = (because: string): Cell => ({ works: false, because });
const all = (cell: Cell): Feature["cells"] => ({
  root: cell,
  subordinate: cell,
  single: cell,
  none: cell,
  docker: cell,
});

const NEEDS_IDS: Feature["cells"] = { ...all(yes), single: no("there is one id") };
const BY_CGROUP: Feature["cells"] = {
  ...all(yes),
  subordinate: { works: true, where: "cgroup" },
  single: { works: true, where: "cgroup" },
  docker: { works: true, where: "cgroup" },
};
const BEYOND = all(no("it belongs to the kernel, which is shared"));

const OF_THE_HOST: Feature["cells"] = {
  ...all(yes),
  subordinate: no("its owner does not exist inside: put a copy in its place"),
  single: no("its owner does not exist inside: put a copy in its place"),
  docker: no("its owner does not exist inside: put a copy in its place"),
};

/** A script of Python that says whether it was permitted. */
const python = (lines: string) =>
  `${PYTHON} -c '
import os, socket, sys
${lines}
print("ok")'`;

/** The rows, in order. */
export const FEATURES: readonly Feature[] = [
  {
    name: "make, replace and remove files anywhere, the host's too",
    script: `echo x >/usr/bin/x && mv /usr/bin/x /usr/bin/env && rm /usr/bin/stat && mkdir /new &&
rm -r /usr/share/doc && mkdir /usr/share/doc && ls -A /usr/share/doc && echo y >/etc/passwd && echo ok`,
    cells: all(yes),
  },
  {
    name: "write into a file of the host's `/usr` in place",
    script: "echo >>/usr/bin/env && echo ok",
    cells: OF_THE_HOST,
  },
  {
    name: "rename, link or change the mode of a file of the host's `/usr`",
    script:
      "(mv /usr/bin/env /usr/x || ln /usr/bin/stat /usr/x || chmod 700 /usr/bin/id) && echo ok",
    cells: OF_THE_HOST,
  },
  {
    name: "give files to other users",
    script: "touch /root/x && chown 5:6 /root/x && [ $(stat -c %u:%g /root/x) = 5:6 ] && echo ok",
    cells: NEEDS_IDS,
  },
  {
    name: "run as any id: `--user 1000`",
    args: ["--user", "1000"],
    script: "[ $(id -u) = 1000 ] && echo ok",
    cells: all(yes),
  },
  {
    name: "become another user inside: `su`, `setpriv`",
    script: "[ $(setpriv --reuid=7 --regid=7 --clear-groups id -u) = 7 ] && echo ok",
    cells: NEEDS_IDS,
  },
  {
    name: "set-uid programs such as `sudo`, with `--allow-setuid`",
    args: ["--allow-setuid"],
    script: `cp /usr/bin/id /usr/local/bin/sid && chmod 4755 /usr/local/bin/sid &&
[ $(setpriv --reuid=7 --regid=7 --clear-groups sid -u) = 0 ] && echo ok`,
    cells: NEEDS_IDS,
  },
  {
    name: "namespaces and mounts of its own, with `--allow-nesting`",
    args: ["--allow-nesting"],
    script: "unshare --user --map-root-user --mount sh -c 'mount -t tmpfs x /mnt && echo ok'",
    cells: all(yes),
  },
  {
    name: "trace its own processes: `strace`, `gdb`",
    script: python(`import ctypes
child = os.fork()
if child == 0:
    ctypes.CDLL(None).ptrace(0, 0, None, None)
    os._exit(os.kill(os.getpid(), 19) or 0)
assert os.WIFSTOPPED(os.waitpid(child, 0)[1])`),
    cells: all(yes),
  },
  {
    name: "terminals",
    script: python(`import pty
assert pty.spawn(["true"]) == 0`),
    cells: all(yes),
  },
  {
    name: "raw sockets on its own network: `ping`",
    script: python("socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)"),
    cells: all(yes),
  },
  {
    name: "ports below 1024 on its own network",
    script: python(`socket.create_server(("127.0.0.1", 80))`),
    cells: all(yes),
  },
  {
    name: "addresses that never answer: `--network blackhole`",
    args: ["--network", "blackhole"],
    script: python(`
try: socket.create_connection(("10.1.2.3", 80), timeout=0.1)
except TimeoutError: print("ok")
sys.exit()`),
    cells: all(yes),
  },
  {
    name: "the host's network: `--network host`",
    args: ["--network", "host"],
    script: python(`socket.create_connection(("127.0.0.1", int(os.environ["PORT"])), timeout=5)`),
    cells: all(yes),
  },
  {
    name: "ports below 1024 and raw sockets of the host's network",
    args: ["--network", "host"],
    script: python("socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)"),
    cells: { ...all(no("the network belongs to the host's root")), none: yes },
  },
  {
    name: "`--memory`, `--swap`",
    args: ["--memory", "64M"],
    script: `${PYTHON} -c 'bytearray(128 << 20)'; [ $? = 137 ] && echo ok`,
    cells: BY_CGROUP,
  },
  {
    name: "`--cpus`, `--cpu-weight`",
    args: ["--cpus", "1", "--cpu-weight", "50"],
    script: "echo ok",
    cells: BY_CGROUP,
  },
  {
    name: "`--pids`, for all its processes together",
    args: ["--pids", "24"],
    script: python(`import signal
try:
    for i in range(40):
        if os.fork() == 0: signal.pause()
    sys.exit()
except OSError: pass`),
    cells: all(yes),
  },
  {
    name: "`--tmp-size`, `--shm-size`",
    args: ["--tmp-size", "1M", "--shm-size", "1M"],
    script: `for dir in /tmp /dev/shm; do head -c 2M /dev/zero >$dir/x && exit; done; echo ok`,
    cells: all(yes),
  },
  {
    name: "`--disk`, `--inodes`, with `--upper tmpfs`",
    args: ["--upper", "tmpfs", "--disk", "1M", "--inodes", "1000"],
    script: `head -c 2M /dev/zero >/root/x || echo ok`,
    cells: all(yes),
  },
  {
    name: "`--nofile`, `--fsize`, `--cpu-time`, `--output`, `--timeout`",
    args: [...["--nofile", "64", "--fsize", "64K", "--cpu-time", "5"], "--output", "1M"],
    script: "[ $(ulimit -n) = 64 ] && [ $(ulimit -f) = 64 ] && [ $(ulimit -t) = 5 ] && echo ok",
    cells: all(yes),
  },
  {
    name: "mount a file system of its own",
    script: "mount -t tmpfs x /mnt && echo ok",
    cells: all(no("mounts belong to a namespace above: give `--bind`, or `--allow-nesting`")),
  },
  { name: "make device files", script: "mknod /root/x c 1 3 && echo ok", cells: BEYOND },
  { name: "set the clock", script: "date -s @1 && echo ok", cells: BEYOND },
  {
    name: "load modules, trace the kernel, change its settings",
    script: "echo 1 >/proc/sys/kernel/panic && echo ok",
    cells: BEYOND,
  },
];

/** Who root inside is on the host. */
export const ROOT_OUTSIDE: Readonly<Record<Mode, string>> = {
  root: "id 2000000000, who owns nothing",
  subordinate: "you; the other ids are your subordinate ids",
  single: "you",
  none: "root",
  docker: "id 2000000000, who owns nothing",
};

/** The whole of docs/modes.md. */
export function renderModes(): string {
  const modes = Object.keys(MODES) as Mode[];
  const row = (...cells: readonly string[]) => `| ${cells.join(" | ")} |\n`;
  const show = (cell: Cell) => cell.works ? cell.where ?? "yes" : "no";
  const note = (cells: Feature["cells"]) => {
    const reasons = Object.values(cells).flatMap((cell) => cell.works ? [] : [cell.because]);
    return [...new Set(reasons)].join("; ");
  };
  return `<!-- deno-fmt-ignore-file -->
# What works in which mode

Who starts minisandbox decides which ids a sandbox has, and with them what its programs can do.
\`minisandbox doctor\` tells the mode of a host and what would give another.

This table is made from data that tests hold against sandboxes of each mode
(\`tests/support/mode_feature.ts\`).

${row("", ...modes.map((mode) => MODES[mode]), "where not")}${
    row(...["", ...modes, ""].map(() => "---"))
  }` +
    row("root inside is, on the host", ...modes.map((mode) => ROOT_OUTSIDE[mode]), "") +
    FEATURES.map(({ name, cells }) =>
      row(name, ...modes.map((mode) => show(cells[mode])), note(cells))
    ).join(
      "",
    ) +
    `
"cgroup": yes, where one is delegated to the user: of version 2, such as by
\`systemd-run --user --scope -p Delegate=yes\`, or directories of version 1 that are his. Elsewhere the option is refused with what would help.
In a container: where it was started with \`--cgroupns host -v /sys/fs/cgroup:/sys/fs/cgroup\`.
Without a cgroup \`--pids\` is held by the kernel's count of a user namespace (Linux 5.14; before, by
that of each id inside).

A Docker container is to be started by \`docker run\` with \`--security-opt seccomp=unconfined\`,
\`--security-opt systempaths=unconfined\`, and the store on a volume, \`-v minisandbox:/var/lib/minisandbox\`;
\`--cap-add SYS_ADMIN\` can stand in place of \`seccomp=unconfined\`. Ordinary users have in it what they
have outside. \`--userns off\` needs \`--cap-add\` of SYS_ADMIN, NET_ADMIN and SYS_PTRACE.

What a program finds itself to be in each mode is written down in \`tests/golden/inside_*.txt\`; which
programs were tried, in \`tests/support/program_case.ts\`.
`;
}
