/** What /etc of a base host holds: generated texts, and copies of what is public and needed. */

/** Entries of the host's /etc that are copied, where they are there and everyone may read them. */
export const ETC_COPIES: readonly string[] = [
  ...["alternatives", "bash.bashrc", "bash_completion.d", "profile", "inputrc", "shells", "skel"],
  ...["ssl/certs", "ssl/openssl.cnf", "ca-certificates", "ca-certificates.conf"],
  ...["pki/tls", "pki/ca-trust", "crypto-policies", "gnutls"],
  ...["ld.so.cache", "ld.so.conf", "ld.so.conf.d"],
  ...["localtime", "timezone", "locale.alias", "locale.conf", "default/locale"],
  ...["gai.conf", "host.conf", "networks", "protocols", "services", "rpc", "ethertypes"],
  ...["os-release", "lsb-release", "debian_version", "redhat-release", "issue"],
  ...["magic", "magic.mime", "mime.types", "mailcap", "terminfo", "fonts", "xdg"],
  ...["login.defs", "debconf.conf", "mke2fs.conf", "wgetrc", "nanorc", "vim", "emacs"],
  ...["perl", "python2.7", "python3", "python3.9", "python3.10", "python3.11", "python3.12"],
  ...["python3.13", "python3.14", "ruby", "php", "R", "lua", "java", "java-8-openjdk"],
  ...[
    "java-11-openjdk",
    "java-17-openjdk",
    "java-21-openjdk",
    "java-25-openjdk",
    "maven",
    "gradle",
  ],
  ...["ImageMagick-6", "ImageMagick-7", "groff", "ghostscript", "texmf", "OpenCL", "vulkan"],
];

/** Users of a base host, as Debian numbers them; `agent` is there to be another than root. */
const USERS: readonly (readonly [name: string, id: number, home: string])[] = [
  ["root", 0, "/root"],
  ["daemon", 1, "/usr/sbin"],
  ["bin", 2, "/bin"],
  ["sys", 3, "/dev"],
  ["games", 5, "/usr/games"],
  ["man", 6, "/var/cache/man"],
  ["lp", 7, "/var/spool/lpd"],
  ["mail", 8, "/var/mail"],
  ["news", 9, "/var/spool/news"],
  ["www-data", 33, "/var/www"],
  ["backup", 34, "/var/backups"],
  ["_apt", 42, "/nonexistent"],
  ["agent", 1000, "/home/agent"],
  ["nobody", 65534, "/nonexistent"],
];

const GROUPS: readonly (readonly [name: string, id: number])[] = [
  ["root", 0],
  ["daemon", 1],
  ["bin", 2],
  ["sys", 3],
  ["adm", 4],
  ["tty", 5],
  ["disk", 6],
  ["lp", 7],
  ["mail", 8],
  ["news", 9],
  ["man", 12],
  ["www-data", 33],
  ["backup", 34],
  ["utmp", 43],
  ["staff", 50],
  ["games", 60],
  ["users", 100],
  ["agent", 1000],
  ["nogroup", 65534],
];

/** Files of a base host's /etc that are the same in every sandbox, by name. */
export function generatedEtc(): Record<string, string> {
  const shell = (id: number) => id === 0 || id === 1000 ? "/bin/bash" : "/usr/sbin/nologin";
  const group = (id: number) => id === 65534 || id === 42 ? 65534 : id;
  return {
    passwd: USERS.map(([name, id, home]) =>
      `${name}:x:${id}:${group(id)}:${name}:${home}:${shell(id)}\n`
    ).join(""),
    group: GROUPS.map(([name, id]) => `${name}:x:${id}:\n`).join(""),
    "nsswitch.conf": "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n" +
      "networks: files\nprotocols: files\nservices: files\nethers: files\nrpc: files\n",
    "machine-id": "",
    fstab: "",
    gitconfig: GIT_CONFIG,
  };
}

/** Lets git work in a repository whatever its owner: who may write it is settled by the sandbox. */
export const GIT_CONFIG = "[safe]\n\tdirectory = *\n";

/** Files that differ from sandbox to sandbox, by name. */
export function siteEtc(
  site: { readonly hostname: string; readonly resolvConf: string },
): Record<string, string> {
  const { hostname, resolvConf } = site;
  const names = hostname === "localhost" ? "localhost" : `localhost ${hostname}`;
  return {
    hosts: `127.0.0.1\t${names}\n::1\t${names} ip6-localhost ip6-loopback\n`,
    hostname: `${hostname}\n`,
    "resolv.conf": resolvConf,
  };
}
