/**
 * Quotas that the kernel counts for a user, over all his processes: one sandbox gets a share, all
 * together half, so that neither a sandbox beside nor the user's own programs go without.
 */
import { getrlimit, O, RLIMIT, setrlimit } from "../../ffi/mod.ts";
import { CWD, limitResource } from "./process_step.ts";
import { bytes, flags, output, type Plan, step } from "./step.ts";

/** What a user may have at once. */
export interface Quotas {
  /** Signals that wait, and POSIX timers (RLIMIT_SIGPENDING). */
  readonly signals: number;
  /** Bytes in POSIX message queues (RLIMIT_MSGQUEUE). */
  readonly queueBytes: number;
  /** Instances of inotify, each of which watches many files. */
  readonly watchers: number;
}

/** What no limit is taken for. */
const MOST = 2 ** 30;

/** Reads what this user may have. */
export function readQuotas(): Quotas {
  const limit = (resource: number) => Math.min(Number(getrlimit(resource).soft), MOST);
  return {
    signals: limit(RLIMIT.RLIMIT_SIGPENDING),
    queueBytes: limit(RLIMIT.RLIMIT_MSGQUEUE),
    watchers: readWatchers(),
  };
}

/** What one sandbox may have of it. */
export function shareOf({ signals, queueBytes, watchers }: Quotas): Quotas {
  return {
    signals: Math.ceil(signals / 8),
    queueBytes: Math.ceil(queueBytes / 4),
    watchers: Math.ceil(watchers / 4),
  };
}

/** What all sandboxes may have of it. */
export function halfOf({ signals, queueBytes, watchers }: Quotas): Quotas {
  return {
    signals: Math.ceil(signals / 2),
    queueBytes: Math.ceil(queueBytes / 2),
    watchers: Math.ceil(watchers / 2),
  };
}

/**
 * Limits what a process, and each user namespace that it makes, may have. A namespace holds its maker
 * to the limit that he had then.
 */
export function limitQuotas({ signals, queueBytes }: Quotas): Plan {
  return [
    limitResource("RLIMIT_SIGPENDING", signals),
    limitResource("RLIMIT_MSGQUEUE", queueBytes),
  ];
}

/** Limits each user of the user namespace that was entered last; a read-only /proc/sys forbids it. */
export function limitWatchers({ watchers }: Quotas): Plan {
  const text = String(watchers);
  const path = "/proc/sys/user/max_inotify_instances";
  return [
    step(
      "open the limit of watchers",
      "openat",
      [CWD, path, flags(O, O.O_WRONLY, O.O_CLOEXEC), 0],
      {
        output: "watchers",
        optional: true,
      },
    ),
    step("limit watchers", "write", [output("watchers"), bytes(text), text.length], {
      optional: true,
    }),
  ];
}

/** Does something under the limits of all sandboxes, which it thereby hands to what it makes. */
export function underHalf<T>(quotas: Quotas, deed: () => T): T {
  const half = halfOf(quotas);
  const limits = [
    [RLIMIT.RLIMIT_SIGPENDING, half.signals],
    [RLIMIT.RLIMIT_MSGQUEUE, half.queueBytes],
  ] as const;
  const before = limits.map(([resource, value]) => {
    const { soft, hard } = getrlimit(resource);
    setrlimit(resource, BigInt(value) < soft ? BigInt(value) : soft, hard);
    return () => setrlimit(resource, soft, hard);
  });
  try {
    return deed();
  } finally {
    for (const restore of before) restore();
  }
}

function readWatchers(): number {
  try {
    return Number(Deno.readTextFileSync("/proc/sys/fs/inotify/max_user_instances"));
  } catch {
    return MOST; // a kernel without it
  }
}
