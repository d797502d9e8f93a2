/** `minisandbox run`: one command in a new sandbox. */
import { Node } from "../app/node.ts";
import { Phases, type RunReport } from "../app/outcome.ts";
import { run } from "../app/run.ts";
import { settleSpec } from "../app/settle.ts";
import { messageOf, MinisandboxError } from "../errors.ts";
import { OutcomeFile } from "./outcome_file.ts";
import { onStderr, Progress } from "./progress.ts";
import { Relay, windowSize } from "./relay.ts";
import { findOutcomeFile, parseRunLine, type RunLine } from "./run_option.ts";
import { toExitCode } from "./exit_code.ts";
import type { Subcommand } from "./subcommand.ts";

const HELP = `Usage: minisandbox run [OPTION]... -- COMMAND [ARGUMENT]...

Runs a command in a new sandbox and exits as it did. What it writes is gone afterwards, and the
host is as before.

What is in the sandbox:
  -l, --layer ARCHIVE:PATH     show an archive (tar, plain or gzip) at PATH; unpacked once, shared by
                               all sandboxes; may be repeated
  -b, --base host|NAME|DIR     what lies below: the host's /usr with a generated /etc, an imported
                               base, or the root file system in DIR, with a slash in it [host]
      --environment NAME       an imported environment: a base, layers, variables and a workdir;
                               options are added, or stand for what it says
      --from NAME|FILE         put what another run kept on top; may be repeated
      --keep NAME|DIR          keep what is written when it has ended, however: as snapshot NAME, or
                               in DIR/root.tar.gz (DIR has a slash in it); not what lies in /tmp,
                               /run and /dev
      --bind SRC:DST[:ro|rw]   show a path of the host, read-only unless said; may be repeated
      --upper disk|tmpfs[:SIZE]  where what is written is kept [disk]
      --upper-dir DIR          where on disk [in the store]

How the command runs:
  -w, --workdir DIR            its working directory [/]
  -e, --env K[=V]              a variable, with our value if none is given; may be repeated
  -u, --user UID|NAME          its user [root, who has no rights outside]
      --network none|blackhole|host  loopback only; that, and addresses that never answer; or the
                               host's network [none]
      --hostname NAME          [sandbox]
      --timeout SECONDS        end it after so long, with exit code 124
  -i, --interactive            give it our stdin; else it reads nothing
  -t, --tty                    give it a terminal

What it may do:
      --cap-drop NAME|all      take a capability from its root; may be repeated
      --cap-add NAME|all       give it back, of those that can be kept; may be repeated
      --allow-setuid           let set-uid programs such as sudo work, inside
      --allow-nesting          let it make namespaces and mounts of its own
      --userns on|off          off: as root, on a host without user namespaces: its root is the host's,
                               bound by capabilities and filter alone [on]

What it may use (a number, or none; a size such as 512M or 2G):
  -m, --memory SIZE            memory of all processes and files in memory; needs a cgroup
      --swap SIZE              swap beside that [0]; needs a cgroup
      --cpus N                 processors, such as 0.5; needs a cgroup
      --cpu-weight N           share of the processors, 1 to 10000; needs a cgroup
      --pids N                 processes: of the sandbox by a cgroup, else of each user
                               [4096 of each user]
      --disk SIZE, --inodes N  what is written, with --upper tmpfs
      --tmp-size SIZE          /tmp [2G]
      --shm-size SIZE          /dev/shm [512M]
      --nofile N               open files of a process
      --fsize SIZE             each file written
      --cpu-time SECONDS       processor time of a process
      --output SIZE            what is printed [1G]

Other:
      --spec FILE              read all of this from JSON first; options are added
      --outcome FILE           write how it ended as JSON, also if we failed
      --plan                   print each step without doing any
      --store DIR              the store [$MINISANDBOX_STORE, else /var/lib/minisandbox for root,
                               else $XDG_DATA_HOME/minisandbox]
      --io-budget SIZE|auto|none  what may be unpacked at once on this node [auto]
      --max-bytes SIZE, --max-entries N, --max-depth N, --setuid keep|drop
                               what is taken from archives, as by layer import
      --quiet                  show no progress
      --help                   print this

The fields of a spec: environment, base, layers [{archive, sha256, path}], from, binds [{source, target, writable}], env {K: V},
workdir, network, user, hostname, timeoutMs, upper {kind: disk, dir} or {kind: tmpfs, sizeBytes},
limits {memoryBytes, swapBytes, cpus, cpuWeight, pids, diskBytes, inodes, tmpBytes, shmBytes, openFiles,
fileBytes, cpuTimeMs, outputBytes}, command [..].

Exit codes: the command's own; 124 timed out; 125 minisandbox failed; 126 the command cannot be
executed; 127 it was not found; 128+N it was ended by signal N.

Examples:
  minisandbox run -- bash -c 'id; ps aux'
  minisandbox run -l venv.tar.gz:/opt/venv -l testbed.tar.gz:/testbed -w /testbed \\
      -e PATH=/opt/venv/bin:/usr/bin:/bin -- python -m pytest -q
  minisandbox run -it --base /srv/debian -- bash
  tar c src | minisandbox run -i --timeout 60 -- tar tv`;

/** The subcommand. */
export const runCommand: Subcommand = {
  name: "run",
  summary: "run a command in a new sandbox",
  help: HELP,
  run: runMain,
};

async function runMain(argv: readonly string[]): Promise<number> {
  const phases = new Phases();
  using outcomeFile = OutcomeFile.open(findOutcomeFile(argv));
  try {
    const line = await parseRunLine(argv);
    if (line.isPlan) {
      const { printPlan } = await import("./plan.ts");
      return await printPlan(line);
    }
    const report = await runLine(line, phases);
    outcomeFile.write({ ...report.outcome, error: null, ...measured(report) });
    return toExitCode(report.outcome);
  } catch (error) {
    const failed = { kind: "failed", code: null, signal: null, error: toErrorFields(error) };
    outcomeFile.write({ ...failed, phases, cpuMs: 0, peakMemoryBytes: null });
    throw error;
  }
}

async function runLine(line: RunLine, phases: Phases): Promise<RunReport> {
  using relay = new Relay(line.isTerminal);
  using progress = new Progress(onStderr(line.isQuiet));
  using node = new Node(line.store, line);
  const report = await run(node, settleSpec(node.store, line.wish), {
    phases,
    wiring: {
      hasStdin: line.isInteractive,
      terminal: line.isTerminal ? windowSize() : null,
    },
    signal: relay.signal,
    keep: line.keep,
    onLayer: progress.show,
    onNote: progress.note,
    onStart: (command) => relay.start(command),
  });
  await relay.finish();
  return report;
}

function measured(
  { phases, cpuMs, peakMemoryBytes }: RunReport,
): Pick<RunReport, "phases" | "cpuMs" | "peakMemoryBytes"> {
  return { phases, cpuMs, peakMemoryBytes };
}

function toErrorFields(error: unknown): Record<string, unknown> {
  if (!(error instanceof MinisandboxError)) {
    return { class: error instanceof Error ? error.name : "Error", message: messageOf(error) };
  }
  const { name, message, kind, remedy } = error;
  return { class: name, kind, message, remedy };
}
