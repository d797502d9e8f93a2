/** What each file in `peer/` gives: a system that makes sandboxes, or does a part of it. */
import type { Phases } from "../outcome.ts";
import type { Shell } from "./shell.ts";
import type { Site } from "./site.ts";

/** A system that is measured. */
export interface Peer {
  readonly name: string;
  /** What it does for a sandbox, in a few words. */
  readonly what: string;
  /** The cases that it can take part in. */
  readonly verbs: readonly Verb[];
  /**
   * Makes all that is made once, whatever the number of sandboxes: that is not measured.
   *
   * @throws {Error} If it cannot be used on this machine: it is skipped then.
   */
  readonly prepare: (site: Site) => Promise<Ground>;
}

/** What can be measured of a system. */
export type Verb = "sandbox" | "process" | "session" | "unpack" | "fork";

/** What an archive was unpacked to. */
export interface Unpacked {
  /** Where its files are. */
  readonly dir: string;
  /** Resolves once the disk has them all. */
  readonly settle: () => Promise<void>;
}

/** A system that is ready. */
export interface Ground extends AsyncDisposable {
  readonly version: string | null;
  /** Makes a sandbox with the environment in it and a bash that lives; its phases are told. */
  readonly sandbox?: (phases: Phases) => Promise<Shell>;
  /** Runs a program to its end, in a sandbox that is there already if it can; gives its stdout. */
  readonly process?: (argv: readonly string[]) => Promise<string>;
  /** Opens a shell as its users drive one, in a sandbox that is there. */
  readonly session?: () => Promise<Shell>;
  /** Unpacks an archive until its files can be used. */
  readonly unpack?: (archive: string, dir: string) => Promise<Unpacked>;
  /** Makes a sandbox that can be copied while it lives. */
  readonly original?: () => Promise<Original>;
  /** Lets it do what it does while nothing is asked: at its own expense, not at the next one's. */
  readonly rest?: () => Promise<void>;
  /** Directories on the disk that hold its environments and what its sandboxes write. */
  readonly directories?: readonly string[];
}

/** A sandbox, and copies of it that begin with what it has written. */
export interface Original extends AsyncDisposable {
  readonly shell: Shell;
  readonly fork: (phases: Phases) => Promise<Shell>;
}

/** A peer that can be used here. */
export interface Ready {
  readonly peer: Peer;
  readonly ground: Ground;
}
