/** Tests of a network that answers nothing: what is unroutable times out, as test suites expect. */
import { assertEquals, assertGreater, assertLess, assertMatch } from "@std/assert";
import { bash, printed } from "../support/minisandbox.ts";
import { PYTHON } from "../support/attack.ts";

const BLACKHOLE = ["--network", "blackhole"];

/** Connects with a time-out of half a second, and prints how that ended and how long it took. */
const connect = (address: string) =>
  `${PYTHON} -c '
import socket, time
begun = time.monotonic()
try: socket.create_connection(("${address}", 80), timeout=0.5); end = "connected"
except OSError as error: end = type(error).__name__ if error.errno is None else str(error.errno)
print(end, int(1000 * (time.monotonic() - begun)))'`;

const ENETUNREACH = "101";

for (const address of ["10.255.255.1", "192.0.2.2", "8.8.8.8", "198.51.100.7"]) {
  Deno.test(`a connection to ${address} times out, where without a route it is unreachable`, async () => {
    const [end, ms] = (await printed(connect(address), BLACKHOLE)).split(" ");
    assertEquals(end, "TimeoutError");
    assertGreater(Number(ms), 450);
    assertEquals((await printed(connect(address))).split(" ")[0], ENETUNREACH);
  });
}

Deno.test("loopback works beside a black hole", async () => {
  const script = `${PYTHON} -c '
import socket
for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
    with socket.create_server((address, 0), family=family) as server:
        socket.create_connection(server.getsockname()[:2], timeout=5)
print("both")'`;
  assertEquals(await printed(script, BLACKHOLE), "both");
});

Deno.test("a datagram to nowhere is sent, and nothing comes back", async () => {
  const script = `${PYTHON} -c '
import socket
it = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
it.settimeout(0.3)
print(it.sendto(b"hello", ("10.1.2.3", 53)))
try: it.recv(9)
except TimeoutError: print("nothing")'`;
  assertEquals(await printed(script, BLACKHOLE), "5\nnothing");
});

Deno.test("there is one interface and one route, and neither can be changed", async () => {
  const routes = "tail -n +2 /proc/net/route | cut -f 1,2,8";
  assertEquals(await printed(routes, BLACKHOLE), "lo\t00000000\t00000000");
  const change = `${PYTHON} -c '
import errno, fcntl, socket, struct
it = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
try: fcntl.ioctl(it, 0x8914, struct.pack("16sh14x", b"lo", 0)); print("down")
except OSError as error: print(errno.errorcode[error.errno])'`;
  assertEquals(await printed(change, BLACKHOLE), "EPERM");
});

Deno.test("a name cannot be looked up in a black hole, and that is known at once", async () => {
  const { code, stdout, stderr } = await bash("time getent hosts example.com", BLACKHOLE);
  assertEquals([code, stdout], [2, ""]);
  const [, minutes, seconds] = /real\s+(\d+)m([\d.]+)s/.exec(stderr)!;
  assertLess(Number(minutes) * 60 + Number(seconds), 1);
});

Deno.test("a server inside is reached by its own programs", async () => {
  const script = `cd /tmp; echo hello >index; ${PYTHON} -u -m http.server 0 >log 2>/dev/null &
until port=$(grep -so 'port [0-9]*' log) 2>/dev/null && [ "$port" ]; do :; done
${PYTHON} -c "import urllib.request as it
print(it.urlopen('http://127.0.0.1:\${port#port }/index').read().decode())"`;
  for (const args of [BLACKHOLE, []]) assertMatch(await printed(script, args), /^hello/);
});
