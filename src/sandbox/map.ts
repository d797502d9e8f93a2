/** Writes the id maps of the holder: by ourselves, or through newuidmap(1). */
import { closeQuietly, Memory, O, openAt, pipe, read, wait } from "../../ffi/mod.ts";
import { HostError, messageOf } from "../errors.ts";
import { carryOut } from "./carry_out.ts";
import { findOnPath } from "./host.ts";
import { type Identity, type IdExtent, toMapText } from "./identity.ts";
import { cleanUp, CWD, setStdio } from "./process_step.ts";
import { fd, step } from "./step.ts";

/**
 * Maps the ids of the holder's user namespace.
 *
 * @throws {HostError} If the kernel or newuidmap refuses.
 */
export function writeHolderMaps(pid: number, { kind, uids, gids }: Identity): void {
  if (kind === "subordinate") return runMappers(pid, { uids, gids });
  try {
    if (kind === "single") Deno.writeTextFileSync(`/proc/${pid}/setgroups`, "deny");
    Deno.writeTextFileSync(`/proc/${pid}/uid_map`, toMapText(uids));
    Deno.writeTextFileSync(`/proc/${pid}/gid_map`, toMapText(gids));
  } catch (error) {
    throw new HostError(`Cannot map ids into a user namespace: ${messageOf(error)}`, {
      cause: error,
      remedy: "A security module may forbid it; see minisandbox doctor.",
    });
  }
}

type Mapper = "newuidmap" | "newgidmap";

/** Runs both mappers at the same time: one after the other they take 5 ms. */
function runMappers(pid: number, { uids, gids }: Pick<Identity, "uids" | "gids">): void {
  using memory = new Memory(32 * 1024);
  const started = [
    startMapper("newuidmap", [pid, ...toNumbers(uids)], memory),
    startMapper("newgidmap", [pid, ...toNumbers(gids)], memory),
  ];
  for (const finish of started) finish();
}

function toNumbers(extents: readonly IdExtent[]): number[] {
  return extents.flatMap(({ inside, outside, count }) => [inside, outside, count]);
}

/** Gives what waits for its end. */
function startMapper(mapper: Mapper, numbers: readonly number[], memory: Memory): () => void {
  const path = findOnPath(mapper) ?? mapper;
  const nothing = openAt(CWD, "/dev/null", O.O_RDWR | O.O_CLOEXEC);
  const said = pipe(O.O_CLOEXEC);
  const fds = { nothing, said: said.writer };
  const running = carryOut(
    [
      ...setStdio(fd("nothing"), fd("nothing"), fd("said")),
      ...cleanUp(),
      step(`execute ${mapper}`, "execve", [
        path,
        { vector: [mapper, ...numbers.map(String)] },
        { vector: ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"] },
      ]),
    ],
    { memory, fds },
  );
  closeQuietly(nothing, said.writer);
  return () => {
    const text = readAll(said.reader);
    const { status } = wait(running.child.pid);
    closeQuietly(said.reader, running.child.pidfd);
    if (status === 0 && running.refusal() === null) return;
    const file = mapper === "newuidmap" ? "/etc/subuid" : "/etc/subgid";
    const why = running.refusal()?.error.message ?? text.trim().replace(/\.$/, "");
    throw new HostError(`Cannot map subordinate ids: ${mapper}: ${why}`, {
      remedy: `Check the entry of this user in ${file}, or remove it to go without.`,
    });
  };
}

function readAll(fd: number): string {
  const decoder = new TextDecoder();
  const chunk = new Uint8Array(1024);
  let text = "";
  for (let count = read(fd, chunk); count > 0; count = read(fd, chunk)) {
    text += decoder.decode(chunk.subarray(0, count), { stream: true });
  }
  return text;
}
