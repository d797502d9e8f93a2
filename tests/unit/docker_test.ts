/** Tests of how Docker is recognized, and of what is said in it. */
import { assertEquals } from "@std/assert";
import { ERRNO } from "../../ffi/mod.ts";
import { cgroupRemedy } from "../../src/sandbox/cgroup/parent.ts";
import { type Docker, dockerRemedy, findDocker } from "../../src/sandbox/docker.ts";
import { remedyFor } from "../../src/sandbox/remedy.ts";
import { step } from "../../src/sandbox/step.ts";

const ID = "58671e815f06ecfc0da8857162bd0f3759872b3929e3080ba03ff025f8e09cca";
const ROOT = "110 90 0:40 / / rw,relatime - overlay overlay rw";
const NAME =
  `130 110 254:0 /var/lib/docker/containers/${ID}/hostname /etc/hostname rw - ext4 /dev/vda rw`;
const DOCKER = { isRoot: true, profile: null };

Deno.test("Docker is recognized by what it mounts into a container", () => {
  assertEquals(findDocker(`${ROOT}\n${NAME}\n`, "", true), DOCKER);
  assertEquals(findDocker(`${ROOT}\n`, "", true), null);
  const own = `130 110 254:0 /home/x/containers/hostname /etc/hostname rw - ext4 /dev/vda rw`;
  assertEquals(findDocker(`${ROOT}\n${own}\n`, "", true), null);
});

Deno.test("a profile of AppArmor counts where it is enforced", () => {
  const profile = (attribute: string) => findDocker(NAME, attribute, true)?.profile;
  assertEquals(profile("docker-default (enforce)\n"), "docker-default");
  assertEquals(profile("docker-default (complain)\n"), null);
  assertEquals(profile("unconfined\n"), null);
});

Deno.test("the options are those without which nothing can be made", () => {
  const options = (docker: Docker) => /docker run (.*) …;/.exec(dockerRemedy(docker))?.[1];
  const both = "--security-opt seccomp=unconfined --security-opt systempaths=unconfined";
  assertEquals(options(DOCKER), `${both} -v minisandbox:/var/lib/minisandbox`);
  assertEquals(
    options({ isRoot: false, profile: "docker-default" }),
    `${both} --security-opt apparmor=unconfined --tmpfs /store:mode=1777 ` +
      "-e MINISANDBOX_STORE=/store/own",
  );
});

Deno.test("what Docker refuses has its remedy, and other refusals have theirs", () => {
  const mount = step("mount a proc that shows nobody", "mount", []);
  const open = step('open "/x"', "open_tree", []);
  assertEquals(remedyFor(mount, ERRNO.EPERM, DOCKER), dockerRemedy(DOCKER));
  assertEquals(remedyFor(mount, ERRNO.EACCES, DOCKER), dockerRemedy(DOCKER));
  assertEquals(remedyFor(open, ERRNO.EPERM, DOCKER), dockerRemedy(DOCKER));
  assertEquals(remedyFor(open, ERRNO.EACCES, DOCKER), remedyFor(open, ERRNO.EACCES, null));
  assertEquals(
    remedyFor(mount, ERRNO.EPERM, null),
    "The host's /proc is covered in places, as in a container: start it so that /proc is not.",
  );
});

Deno.test("cgroups are had from a service manager, in a container from Docker", () => {
  assertEquals(cgroupRemedy(null).includes("systemd-run --user --scope"), true);
  assertEquals(cgroupRemedy(DOCKER).includes("docker run --cgroupns host -v /sys/fs/cgroup"), true);
});
