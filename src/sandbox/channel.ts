/** A directory inside by which we and a program talk, apart from its terminal. */
import { AT, O, ptyNumber, S, storeAway, unlockPty } from "../../ffi/mod.ts";
import { openPtySteps } from "./process_plan.ts";
import { CWD } from "./process_step.ts";
import type { Sandbox } from "./sandbox.ts";
import { flags, mode, type Plan, step } from "./step.ts";

/** What a channel needs to know of the program's user. */
export interface ChannelOwner {
  readonly uid: number;
  readonly gid: number;
}

/** A channel, and the pty beside it; its descriptors are the caller's to close. */
export interface Channel {
  /** Its directory inside. */
  readonly dir: string;
  readonly master: number;
  readonly ptyNumber: number;
  /** The pipe by which the program is told that there is something to do. */
  readonly kick: number;
  /** The pipe by which it tells us. */
  readonly report: number;
  /** The file that says what to do. */
  readonly text: number;
  /** The file of the program itself, to be written and closed. */
  readonly driver: number;
}

const PIPES = ["kick", "report"] as const;
const FILES = ["text", "driver", "state", "trap"] as const;
const OPENED = ["master", "kick", "report", "text", "driver"] as const;

/**
 * Makes a channel: pipes named `kick` and `report`, files named `text`, `driver`,
 * `state` and `trap`. They are opened
 * here once and for all: whoever removes or replaces them inside, changes nothing of ours.
 *
 * @throws {SetupError} If a step is refused.
 * @throws {GoneError} If the sandbox has ended.
 */
export function openChannel(sandbox: Sandbox, owner: ChannelOwner): Channel {
  const dir = `/run/session-${randomName()}`;
  const isRoot = (owner.uid === 0 && owner.gid === 0) || !sandbox.hasOtherIds;
  const [master, kick, report, text, driver] = sandbox.carryOutInside([
    ...openPtySteps(),
    step("make a channel", "mkdirat", [CWD, dir, mode(0o700)]),
    step("enter the channel", "chdir", [dir]),
    ...PIPES.map((name) => makeNode(name, S.S_IFIFO)),
    ...FILES.map((name) => makeNode(name, S.S_IFREG)),
    ...[...PIPES, "text", "driver"].map(open),
    ...(isRoot ? [] : [...PIPES, ...FILES, "."].map((name) => giveTo(owner, name))),
  ], OPENED) as [number, number, number, number, number];
  unlockPty(master);
  return {
    ...{ dir, ptyNumber: ptyNumber(master), driver },
    ...{ master: storeAway(master), kick: storeAway(kick) },
    ...{ report: storeAway(report), text: storeAway(text) },
  };
}

/** Removes what is left of a channel; what a program has put into it, stays. */
export function removeChannel(sandbox: Sandbox, dir: string): void {
  const steps: Plan = [
    ...[...PIPES, ...FILES].map((name) =>
      step(`remove ${name}`, "unlinkat", [CWD, `${dir}/${name}`, 0])
    ),
    step("remove the channel", "unlinkat", [
      CWD,
      dir,
      flags(AT, AT.AT_REMOVEDIR),
    ]),
  ];
  sandbox.carryOutInside(steps.map((it) => ({ ...it, optional: true })));
}

function makeNode(name: string, type: number): Plan[number] {
  return step(`make the ${name}`, "mknodat", [CWD, name, mode(type | 0o600), 0]);
}

/** Both ends of a pipe: neither opening it nor writing to it waits for anybody. */
function open(name: string): Plan[number] {
  const how = flags(O, O.O_RDWR, O.O_NONBLOCK, O.O_NOFOLLOW, O.O_CLOEXEC);
  return step(`open the ${name}`, "openat", [CWD, name, how, 0], { output: name });
}

function giveTo({ uid, gid }: ChannelOwner, name: string): Plan[number] {
  return step(`give the ${name} away`, "fchownat", [
    CWD,
    name,
    uid,
    gid,
    flags(AT, AT.AT_SYMLINK_NOFOLLOW),
  ]);
}

function randomName(): string {
  return crypto.getRandomValues(new Uint8Array(8)).toHex();
}
