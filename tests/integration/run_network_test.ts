/** Tests of a sandbox's network. */
import { assertEquals, assertMatch } from "@std/assert";
import { bash, minisandbox, printed, refusal } from "../support/minisandbox.ts";

/** Lists interfaces by name; those of the process that reads. */
const LIST = "tail -n +3 /proc/net/dev | cut -d : -f 1 | tr -d ' ' | sort";

Deno.test("a sandbox has loopback, up, and nothing else", async () => {
  assertEquals(await printed(LIST), "lo");
  const script = `python3 -c '
import socket, threading
server = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=lambda: server.accept()[0].sendall(b"hello")).start()
print(socket.create_connection(server.getsockname()).recv(9).decode())
with socket.create_server(("::1", 0), family=socket.AF_INET6) as six: print("six")
'`;
  assertEquals(await printed(script), "hello\nsix");
});

Deno.test("a name cannot be looked up without a network, and that is known at once", async () => {
  const { code, stdout } = await bash("time getent hosts example.com");
  assertEquals([code, stdout], [2, ""]);
});

Deno.test("a server of the host's is out of reach without a network, and in reach with it", async () => {
  using server = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = server.addr as Deno.NetAddr;
  const connect = `(exec 3<>/dev/tcp/127.0.0.1/${port} && cat <&3) 2>&1`;
  const apart = await bash(connect);
  assertMatch(apart.stdout, /Connection refused/);
  const [connection, together] = await Promise.all([
    server.accept().then(async (it) => {
      await it.write(new TextEncoder().encode("hello"));
      it.close();
    }),
    printed(connect, ["--network", "host"]),
  ]);
  assertEquals([connection, together], [undefined, "hello"]);
});

Deno.test("an abstract socket of the host's is out of reach without a network", async () => {
  const name = `minisandbox-test-${crypto.randomUUID()}`;
  const script = `import socket
s = socket.socket(socket.AF_UNIX)
try: s.connect("\\0${name}"); print("reached")
except ConnectionRefusedError: print("refused")`;
  using _server = Deno.listen({ transport: "unix", path: `\0${name}` });
  const python = ["run", "--quiet", "--", "python3", "-c", script];
  assertEquals((await minisandbox(python)).stdout, "refused\n");
});

Deno.test("--network host shows the host's interfaces and its resolver", async () => {
  const host = await new Deno.Command("bash", { args: ["-c", LIST] }).output();
  const args = ["--network", "host"];
  assertEquals(`${await printed(LIST, args)}\n`, new TextDecoder().decode(host.stdout));
  const resolver = Deno.readTextFileSync("/etc/resolv.conf");
  assertEquals(`${await printed("cat /etc/resolv.conf", args)}\n`, resolver.replace(/\n*$/, "\n"));
  assertEquals(await printed("cat /etc/resolv.conf"), "# there is no network");
});

Deno.test("an unknown network is refused in one line", async () => {
  assertEquals(refusal(await minisandbox(["run", "--network", "bridge", "--", "true"])), [
    125,
    'Cannot read --network "bridge": no such network. Give none, blackhole or host.',
  ]);
});
