/** Hosts as plans may find them: one for each kind of identity. */
import type { Host, Identity } from "../../src/sandbox/mod.ts";
import { chooseIdentity, NO_IDENTITY } from "../../src/sandbox/identity.ts";

/** The kinds of identity. */
export const KINDS = ["root", "subordinate", "single", "none"] as const;

/** Gives a host on which sandboxes have this identity. */
export function hostOf(kind: Identity["kind"]): Host {
  const uid = kind === "root" || kind === "none" ? 0 : 1000;
  const subordinate = kind === "subordinate" ? "1000:100000:65536" : "";
  return {
    uid,
    gid: uid,
    identity: kind === "none" ? NO_IDENTITY : chooseIdentity({
      uid,
      gid: uid,
      userName: null,
      subuid: subordinate,
      subgid: subordinate,
      uidMap: "0 0 4294967295",
      hasNewuidmap: true,
    }),
    mountsOutside: uid === 0,
    lastCapability: 40,
    hidden: [{ name: "kcore", isDirectory: false }, { name: "irq", isDirectory: true }],
    coreLimit: 0,
    oomScore: 0,
    ignoredSignals: [13, 20],
    openFiles: { soft: 1024, hard: 4096 },
    quotas: { signals: 8000, queueBytes: 80000, watchers: 128 },
  };
}
