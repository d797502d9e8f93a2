/** pexpect, by which agents' shells are usually driven: with the delay it has by default, and without. */
import { TextLineStream } from "@std/streams/text-line-stream";
import { HostError } from "../../../errors.ts";
import { run } from "../child.ts";
import type { Peer } from "../peer.ts";
import type { Answer, Shell } from "../shell.ts";

/** Times are taken in Python, so that our pipe to it costs it nothing. */
const PROGRAM = String.raw`
import json, sys, time, pexpect
child = pexpect.spawn("bash", ["--noprofile", "--norc", "--noediting"], echo=False, maxread=65536)
if sys.argv[1] == "fast":
    child.delaybeforesend = None
child.sendline("PS1= PS2=; printf '\\036%d\\036' 0")
child.expect(rb"\x1e0\x1e")
for line in sys.stdin:
    begin = time.perf_counter()
    child.sendline("{ " + json.loads(line) + "\n} </dev/null 2>&1; printf '\\036%d\\036' \"$?\"")
    child.expect(rb"\x1e(\d+)\x1e", timeout=300, searchwindowsize=64)
    ms = (time.perf_counter() - begin) * 1000
    output = child.before
    text = output[:65536].replace(b"\r\n", b"\n").decode("utf-8", "replace")
    status = int(child.match.group(1))
    print(json.dumps({"status": status, "output": text, "bytes": len(output), "ms": ms}), flush=True)
`;

/** As it is. */
export const pexpect = pexpectPeer("pexpect", "slow", "with its delay of 50 ms before it sends");

/** As who knows it uses it. */
export const fastPexpect = pexpectPeer("pexpect-fast", "fast", "without its delay");

function pexpectPeer(name: string, mode: string, how: string): Peer {
  return {
    name,
    what: `bash on a terminal driven by Python's pexpect ${how}`,
    verbs: ["session"],
    prepare: async () => {
      const code = "import pexpect; print(pexpect.__version__)";
      const version = await run(["python3", "-c", code]).catch((cause) => {
        throw new HostError("Cannot import pexpect: python3 has none", { cause });
      });
      return {
        version: version.trim(),
        session: () => Promise.resolve(openShell(mode)),
        [Symbol.asyncDispose]: () => Promise.resolve(),
      };
    },
  };
}

function openShell(mode: string): Shell {
  const child = new Deno.Command("python3", {
    args: ["-c", PROGRAM, mode],
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const writer = child.stdin.getWriter();
  const lines = child.stdout.pipeThrough(new TextDecoderStream())
    .pipeThrough(new TextLineStream())[Symbol.asyncIterator]();
  return {
    run: async (text) => {
      await writer.write(new TextEncoder().encode(`${JSON.stringify(text)}\n`));
      const { value, done } = await lines.next();
      if (done === true) throw new HostError("Cannot ask pexpect: it has ended");
      return JSON.parse(value) as Answer;
    },
    pids: () => Promise.resolve([child.pid]),
    [Symbol.asyncDispose]: async () => {
      await writer.close().catch(() => {}); // it may have ended already
      await lines.return?.();
      await child.status;
    },
  };
}
