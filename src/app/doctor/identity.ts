/** Check of the ids that a sandbox has. */
import { chooseIdentity, type IdentityFacts, readIdentityFacts } from "../../sandbox/mod.ts";
import { caution, type Finding, pass } from "./finding.ts";
import type { Probe } from "./probe.ts";

const LOST = "Everything inside belongs to one id: chown to another, other users and setgroups " +
  "fail, and owners in archives are dropped.";

/** So many ids distributions give. */
const USUAL_COUNT = 65536 - 1;

/** Check of the ids that a sandbox has. */
export const identityProbe: Probe = {
  check: "identity",
  lost: "Sandboxes cannot be made.",
  examine: () => judgeIdentity(readIdentityFacts()),
};

/** Judges the identity that is chosen from these facts. */
export function judgeIdentity(facts: IdentityFacts): Finding {
  const check = "identity";
  const { kind, uids, gids } = chooseIdentity(facts);
  const last = uids.at(-1)!;
  if (kind === "root") {
    return pass(check, `root inside is id ${last.outside} outside, of ${last.count}`);
  }
  const own = `root inside is user ${facts.uid}`;
  const name = facts.userName ?? String(facts.uid);
  const mend = `usermod --add-subuids 100000-165535 --add-subgids 100000-165535 ${name}`;
  if (kind === "subordinate") {
    const count = Math.min(last.count, gids.at(-1)!.count);
    const found = `${own}, with ${count} subordinate ids from ${last.outside}`;
    if (count >= USUAL_COUNT) return pass(check, found);
    return caution(check, found, {
      lost: `Users and groups above ${count} do not exist inside: nobody is 65534.`,
      remedy: mend,
    });
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
  return caution(check, `${own} alone: no entry in /etc/subuid and /etc/subgid`, {
    lost: LOST,
    remedy: mend + (facts.hasNewuidmap ? "" : ", and: apt install uidmap"),
  });
}
