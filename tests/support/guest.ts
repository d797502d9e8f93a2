/** A virtual machine with Debian's kernel, the program under test, and a script: without KVM. */
import { ROOT } from "../../tools/checkout.ts";
import { BINARY } from "./minisandbox.ts";

/** Modules of the kernel that the guest loads, in order. */
const MODULES = [
  ...["lib/crc16", "crypto/crc32c_generic", "lib/libcrc32c", "fs/mbcache", "fs/jbd2/jbd2"],
  ...["fs/ext4/ext4", "drivers/block/loop", "fs/overlayfs/overlay"],
];

/** Programs of this machine that the guest has. */
const PROGRAMS = [
  ...["/bin/bash", "/usr/bin/id", "/usr/bin/grep", "/usr/bin/env", "/usr/sbin/mkfs.ext4"],
  BINARY,
];

/** The first process: everything moves to a root that pivot_root(2) accepts. */
const INIT = `#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc
for module in ${
  MODULES.map((it) => it.split("/").at(-1)).join(" ")
}; do insmod /mod/$module.ko; done
mkdir /guest && mount -t tmpfs -o size=700m guest /guest
cp -a /usr /bin /sbin /lib /lib64 /etc /root /home /var /go /guest/
mkdir /guest/proc /guest/sys /guest/dev /guest/data && mkdir -m 1777 /guest/tmp
exec switch_root /guest /go
`;

/** Then the script, with /data on a disk that all may write to. */
const GO = (script: string) =>
  `#!/bin/sh
export PATH=/usr/sbin:/usr/bin HOME=/root
mount -t proc proc /proc
mount -t sysfs sys /sys && mount -t cgroup2 cgroup /sys/fs/cgroup
mount -t devtmpfs dev /dev && mkdir -p /dev/pts /dev/shm && mount -t devpts pts /dev/pts
dd if=/dev/zero of=/disk bs=1M count=0 seek=200 2>/dev/null && mkfs.ext4 -q /disk
mount -o loop /disk /data && chmod 777 /data
echo "GUEST $(uname -r)"
${script}
echo "GUEST END"
poweroff -f
`;

/** Boots the guest in a directory, and gives what its console showed. */
export async function bootGuest(dir: string, script: string): Promise<string> {
  await run(["apt-get", "download", await kernelPackage()], dir);
  const [archive] = [...Deno.readDirSync(dir)].filter(({ name }) => name.endsWith(".deb"));
  await run(["dpkg-deb", "-x", archive!.name, "kernel"], dir);
  makeRoot(dir, script);
  await run(["sh", "-c", "cd root && find . | cpio -o -H newc --quiet | gzip -1 > ../initrd"], dir);
  const [kernel] = [...Deno.readDirSync(`${dir}/kernel/boot`)]
    .filter(({ name }) => name.startsWith("vmlinuz"));
  return await run([
    ...["qemu-system-x86_64", "-M", "q35", "-cpu", "max", "-m", "1536", "-smp", "2"],
    ...["-nographic", "-no-reboot", "-kernel", `kernel/boot/${kernel!.name}`, "-initrd", "initrd"],
    ...["-append", "console=ttyS0 quiet panic=-1 rdinit=/init"],
  ], dir);
}

async function kernelPackage(): Promise<string> {
  const depends = await run(["apt-cache", "depends", "linux-image-amd64"], ROOT);
  return /Depends: (linux-image-\S+)/.exec(depends)![1]!;
}

function makeRoot(dir: string, script: string): void {
  const root = `${dir}/root`;
  const directories = ["usr/bin", "usr/sbin", "usr/lib", "usr/lib64", "proc", "sys", "dev", "etc"];
  for (const name of [...directories, "root", "home", "var", "mod"]) {
    Deno.mkdirSync(`${root}/${name}`, { recursive: true });
  }
  for (const name of ["bin", "sbin", "lib", "lib64"]) {
    Deno.symlinkSync(`usr/${name}`, `${root}/${name}`);
  }
  const [version] = [...Deno.readDirSync(`${dir}/kernel/lib/modules`)];
  for (const module of MODULES) {
    const from = `${dir}/kernel/lib/modules/${version!.name}/kernel/${module}.ko`;
    Deno.copyFileSync(from, `${root}/mod/${module.split("/").at(-1)}.ko`);
  }
  copyWithLibraries(["/bin/busybox", ...PROGRAMS], root);
  Deno.writeTextFileSync(
    `${root}/etc/passwd`,
    "root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000:user:/data:/bin/sh\n",
  );
  for (const [name, text] of [["init", INIT], ["go", GO(script)]] as const) {
    Deno.writeTextFileSync(`${root}/${name}`, text);
    Deno.chmodSync(`${root}/${name}`, 0o755);
  }
}

function copyWithLibraries(programs: readonly string[], root: string): void {
  for (const program of programs) {
    Deno.copyFileSync(program, `${root}/usr/bin/${program.split("/").at(-1)}`);
    const { stdout } = new Deno.Command("ldd", { args: [program] }).outputSync();
    for (const [library] of new TextDecoder().decode(stdout).matchAll(/\/\S+/g)) {
      const inside = `${root}${library.replace(/^\/lib/, "/usr/lib")}`;
      Deno.mkdirSync(inside.slice(0, inside.lastIndexOf("/")), { recursive: true });
      Deno.copyFileSync(library, inside);
    }
  }
}

async function run([program, ...args]: readonly string[], cwd: string): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(program!, {
    args,
    cwd,
    stdin: "null",
  }).output();
  const text = new TextDecoder().decode(stdout);
  if (success) return text;
  throw new Error(`Cannot run ${program}: ${new TextDecoder().decode(stderr)}${text.slice(-500)}`);
}
