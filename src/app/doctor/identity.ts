/** Check of the ids that a sandbox has. */
import { chooseIdentity, type IdentityFacts, readIdentityFacts } from "../../sandbox/mod.ts";
import { caution, type Finding, pass } from "./finding.ts";
import type { Probe } from "./probe.ts";

const LOST = "Everything inside belongs to one id: chown to another, other users and setgroups " +
  "fail, and owners in archives are dropped.";

/** Check of the ids that a sandbox has. */
export const identityProbe: Probe = {
  check: "identity",
  lost: "Sandboxes cannot be made.",
  examine: () => judgeIdentity(readIdentityFacts()),
};

/** Judges the identity that is chosen from these facts. */
export function judgeIdentity(facts: IdentityFacts): Finding {
  const check = "identity";
  const { kind, uids } = chooseIdentity(facts);
  const last = uids.at(-1)!;
  if (kind === "root") {
    return pass(check, `root inside is id ${last.outside} outside, of ${last.count}`);
  }
  const own = `root inside is user ${facts.uid}`;
  if (kind === "subordinate") {
    return pass(check, `${own}, with ${last.count} subordinate ids from ${last.outside}`);
  }
  if (chooseIdentity({ ...facts, hasNewuidmap: true }).kind === "subordinate") {
    return caution(check, `${own} alone: newuidmap is missing, though /etc/subuid has an entry`, {
      lost: LOST,
      remedy: "apt install uidmap (elsewhere the package is shadow or shadow-utils)",
    });
  }
  if (facts.uid === 0) {
    return caution(check, "this is a user namespace of a single id", {
      lost: LOST,
      remedy: "Start minisandbox outside of it.",
    });
  }
  const name = facts.userName ?? String(facts.uid);
  return caution(check, `${own} alone: no entry in /etc/subuid and /etc/subgid`, {
    lost: LOST,
    remedy: `usermod --add-subuids 100000-165535 --add-subgids 100000-165535 ${name}` +
      (facts.hasNewuidmap ? "" : ", and: apt install uidmap"),
  });
}
