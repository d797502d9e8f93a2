/** Programs that people run inside, as data: each works, or has its documented reason. */

/** A script, and what it prints on stdout and stderr together. */
export interface ProgramCase {
  /** What is shown to work. */
  readonly what: string;
  /** Programs of the host without which it is left out; CI installs `REQUIRED`. */
  readonly needs: readonly string[];
  readonly script: string;
  readonly prints: RegExp;
  /** Arguments of `run`. */
  readonly args?: readonly string[];
  /** What is printed instead where a sandbox has one id only. */
  readonly withOneId?: RegExp;
  /** What is printed instead without user namespaces. */
  readonly withoutUserns?: RegExp;
}

/** Programs that CI installs: where it runs, none of them may be missing. */
export const REQUIRED = [
  "gcc",
  "git",
  "less",
  "make",
  "perl",
  "ping",
  "ps",
  "python3",
  "rsync",
  "sqlite3",
  "strace",
];

/** A virtual environment with pytest and its workers is bound here. */
export const PYTEST = "/opt/pytest";

const C = `echo '#include <stdio.h>\nint main(void) { return printf("hi from C\\n") < 0; }' >a.c`;

/** On the base `host`; each script starts in an empty directory. */
export const HOST_PROGRAMS: readonly ProgramCase[] = [
  {
    what: "python3 runs threads, processes and a semaphore in shared memory",
    needs: ["python3"],
    script: `cat >a.py <<'.'
import multiprocessing, threading
threading.Thread(target=print, args=["thread"]).start()
if __name__ == "__main__":
    with multiprocessing.Pool(2) as pool: print(sum(pool.map(abs, [-1, -2])))
.
/usr/bin/python3 a.py`,
    prints: /^thread\n3\n$/,
  },
  {
    what: "a venv is made, and pip installs a wheel into it",
    needs: ["python3"],
    script:
      `/usr/bin/python3 -m venv v && v/bin/pip install -q --no-index --find-links /wheels hello &&
v/bin/python -c 'import hello; print(hello.__file__)' && v/bin/pip list 2>/dev/null`,
    prints: /^\/.*\/v\/lib\/python3\.\d+\/site-packages\/hello\.py\nPackage[^]*hello +1\.0/,
  },
  {
    what: "pip installs into the system, and finds what it installed",
    needs: ["pip3"],
    script: `/usr/bin/python3 -m pip install -q --break-system-packages --root-user-action=ignore \\
  --no-index --find-links /wheels hello && cd / && /usr/bin/python3 -c 'print(__import__("hello").__file__)'`,
    prints: /^\/usr\/local\/lib\/python3.*\/hello\.py\n$/,
  },
  {
    what: "pytest runs tests by several workers",
    needs: ["python3"],
    script: `printf 'import pytest\n@pytest.mark.parametrize("i", range(20))
def test_it(i, tmp_path): (tmp_path / "x").write_text("x")\n' >test_it.py
${PYTEST}/bin/python -m pytest -q -n 2 -p no:cacheprovider 2>&1 | tail -n 1`,
    prints: /^20 passed in/,
  },
  {
    what: "git makes, commits, stashes, clones and adds worktrees",
    needs: ["git"],
    script:
      `git init -q a && cd a && git config user.email a@b && git config user.name a && echo 1 >f &&
git add f && git commit -qm one && echo 2 >f && git stash -q && cat f && git stash pop -q && cat f &&
git clone -q . ../b && git worktree add -q ../c && ls .. && git gc -q && git fsck`,
    prints: /^1\n2\na\nb\nc\n/,
  },
  {
    what: "gcc compiles and links, and gdb stops what came of it",
    needs: ["gcc", "gdb"],
    script:
      `${C} && gcc -g a.c && ./a.out && gdb -batch -ex 'break main' -ex run -ex bt a.out 2>/dev/null`,
    prints: /^hi from C\n[^]*#0 +main/,
  },
  {
    what: "gcc compiles with the address sanitizer",
    needs: ["gcc"],
    script: `${C} && gcc -fsanitize=address,undefined a.c && ./a.out`,
    prints: /^hi from C\n$/,
  },
  {
    what: "make runs jobs at once",
    needs: ["make"],
    script: `printf 'all: a b\na b:\n\t@echo $@ | tr a-z A-Z\n' >Makefile && make -s -j2 | sort`,
    prints: /^A\nB\n$/,
  },
  {
    what: "cmake configures and builds",
    needs: ["cmake", "gcc", "make"],
    script:
      `${C} && printf 'cmake_minimum_required(VERSION 3.10)\nproject(a C)\nadd_executable(a a.c)\n' \\
  >CMakeLists.txt && cmake -S . -B o >/dev/null && cmake --build o >/dev/null && o/a`,
    prints: /^hi from C\n$/,
  },
  {
    what: "node runs, with a worker and a child process",
    needs: ["node"],
    script: `node -e '
const { Worker } = require("worker_threads");
new Worker("console.log(1 + 1)", { eval: true }).on("exit", () =>
  console.log(require("child_process").execSync("echo child").toString()))'`,
    prints: /^2\nchild\n/,
  },
  {
    what: "npm starts, and packs a package",
    needs: ["npm"],
    script: `printf '{"name":"a","version":"1.0.0"}' >package.json && npm pack --silent`,
    prints: /^a-1\.0\.0\.tgz\n$/,
  },
  {
    what: "javac compiles, and java runs it",
    needs: ["java", "javac"],
    script:
      `echo 'class A { public static void main(String[] a) { System.out.println("hi from Java"); } }' \\
  >A.java && javac A.java && java A`,
    prints: /^hi from Java\n$/,
  },
  {
    what: "java tells its version",
    needs: ["java"],
    script: "java -version",
    prints: /^openjdk version/,
  },
  {
    what: "go tells its version",
    needs: ["go"],
    script: "go version",
    prints: /^go version/,
    args: ["--bind", "/usr/local/go:/usr/local/go", "-e", "PATH=/usr/local/go/bin:/usr/bin:/bin"],
  },
  {
    what: "perl runs, with no complaint about the locale",
    needs: ["perl"],
    script: `perl -MPOSIX -e 'print "hi from Perl\n"'`,
    prints: /^hi from Perl\n$/,
  },
  {
    what: "bash has job control on a terminal",
    needs: ["script"],
    script: `script -qec 'bash -ic "set -m; sleep 30 & jobs; kill %1; wait; echo done"' /dev/null`,
    prints: /Running +sleep 30[^]*done/,
  },
  {
    what: "bash substitutes processes and reads here-documents",
    needs: [],
    script: `diff <(echo a) <(echo b); cat <<'E O'\nx\nE O`,
    prints: /^1c1\n< a\n---\n> b\nx\n$/,
  },
  {
    what: "ps shows its own processes only",
    needs: ["ps"],
    script: "ps -e -o pid=,comm=",
    prints: /^ *1 memfd:minisandb\n *2 ps\n$/,
  },
  {
    what: "top shows a page",
    needs: ["top"],
    script: "top -b -n 1 | head -n 3",
    prints: /^top - [^]*Tasks: +\d+ total/,
  },
  { what: "free tells of memory", needs: ["free"], script: "free -m", prints: /Mem: +\d+/ },
  {
    what: "df shows the sandbox's file systems",
    needs: [],
    script: "df -h / /tmp /dev/shm",
    prints: /^Filesystem[^]*overlay .* \/\n[^]*2\.0G .* \/tmp\n[^]*512M .* \/dev\/shm\n$/,
  },
  {
    what: "mount lists what is mounted, and findmnt draws it",
    needs: ["findmnt"],
    script: "mount | grep -c ' on / type overlay' && findmnt -n -o FSTYPE /proc",
    prints: /^1\nproc\n$/,
  },
  {
    what: "nproc and uptime tell of the host, and lscpu where its part of /sys is bound",
    needs: ["lscpu"],
    script: "nproc && lscpu | grep -m 1 Architecture && uptime >/dev/null && echo up",
    prints: /^\d+\nArchitecture: .*\nup\n$/,
    args: ["--bind", "/sys/devices/system/cpu:/sys/devices/system/cpu"],
  },
  {
    what: "lscpu says that there is no /sys",
    needs: ["lscpu"],
    script: "lscpu",
    prints: /\/sys\/devices\/system\/cpu\/possible: No such file or directory\n$/,
  },
  {
    what: "date, hostname, id, whoami and getent tell of the sandbox",
    needs: ["hostname"],
    script:
      "date +%Z && hostname && whoami && id -un && getent passwd root && getent hosts localhost",
    prints: /^\S+\nsandbox\nroot\nroot\nroot:x:0:0:.*\n\S+ +localhost/,
  },
  {
    what: "locale is UTF-8 everywhere",
    needs: ["locale"],
    script: "locale | sort -u | grep -v UTF-8; locale charmap",
    prints: /^(?:LANGUAGE=\n)?(?:LC_ALL=\n)?UTF-8\n$/,
  },
  {
    what: "mktemp, mkfifo, flock, truncate, fallocate and ln work in /tmp and /root",
    needs: ["flock"],
    script: `for d in /tmp /root; do cd $(mktemp -d -p $d) && mkfifo p && truncate -s 1M t &&
fallocate -l 64K f && ln f g && ln -s f h && flock f stat -c %h g; done`,
    prints: /^2\n2\n$/,
  },
  {
    what: "tar keeps owners, modes and links",
    needs: ["tar"],
    script: `mkdir a && echo x >a/f && ln a/f a/g && ln -s f a/h && chown 5:6 a/f; chmod 4751 a/f
tar cf t a && rm -r a && tar xpf t && stat -c '%a %u:%g %h' a/f && readlink a/h`,
    prints: /^4751 5:6 2\nf\n$/,
    withOneId: /^chown: changing ownership of 'a\/f': Invalid argument\n4751 0:0 2\nf\n$/,
  },
  {
    what: "gzip, xz, bzip2 and zstd pack and unpack",
    needs: ["gzip", "xz", "bzip2"],
    script: "for z in gzip xz bzip2; do echo $z | $z -c | $z -dc; done",
    prints: /^gzip\nxz\nbzip2\n$/,
  },
  {
    what: "rsync copies a tree",
    needs: ["rsync"],
    script: "mkdir a && echo x >a/f && rsync -a a/ b/ && cat b/f",
    prints: /^x\n$/,
  },
  {
    what: "curl reads from a server inside",
    needs: ["curl", "python3"],
    script: `echo hello >index.html; /usr/bin/python3 -u -m http.server 0 >log 2>/dev/null &
until port=$(grep -so 'port [0-9]*' log) && [ "$port" ]; do :; done
curl -s http://localhost:\${port#port }/`,
    prints: /^hello\n$/,
  },
  {
    what: "curl fails at once without a network",
    needs: ["curl"],
    script: "curl -sS http://example.com/; curl -sS --max-time 5 http://192.0.2.7/; echo $?",
    prints: /Could not resolve host: example\.com\n[^]*\n7\n$/,
  },
  {
    what: "openssl makes a certificate, and is refused a connection",
    needs: ["openssl"],
    script: `openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=a -keyout k -out c 2>/dev/null &&
openssl x509 -in c -noout -subject; openssl s_client -connect 127.0.0.1:1 2>&1 | grep -o 'Connection refused' | head -n 1`,
    prints: /^subject=CN = a\nConnection refused\n$/,
  },
  {
    what: "ssh-keygen makes a key",
    needs: ["ssh-keygen"],
    script: "ssh-keygen -q -t ed25519 -N '' -f k && cut -d ' ' -f 1 k.pub",
    prints: /^ssh-ed25519\n$/,
  },
  {
    what: "gpg tells its version",
    needs: ["gpg"],
    script: "gpg --version",
    prints: /^gpg \(GnuPG/,
  },
  {
    what: "sqlite3 keeps a database, with locks and a write-ahead log",
    needs: ["sqlite3"],
    script: `sqlite3 d 'pragma journal_mode = wal; create table t (x); insert into t values (7);' &&
sqlite3 d 'select x from t'`,
    prints: /^wal\n7\n$/,
  },
  { what: "less shows a file", needs: ["less"], script: "echo x >f; less f", prints: /^x\n$/ },
  {
    what: "vim edits a file",
    needs: ["vim"],
    script: "echo one >f; vim -es -u NONE -c '%s/one/two/' -c wq f; cat f",
    prints: /^two\n$/,
  },
  {
    what: "tmux starts a session, and shows what it printed",
    needs: ["tmux"],
    script: `tmux new-session -d -s a 'echo hi from tmux; exec sleep 60' &&
until tmux capture-pane -p -t a | grep hi; do :; done; tmux kill-server`,
    prints: /^hi from tmux\n$/,
  },
  {
    what: "strace traces a process of its own",
    needs: ["strace"],
    script: "strace -f -e trace=exit_group true 2>&1",
    prints: /exit_group\(0\)/,
  },
  {
    what: "ping reaches loopback",
    needs: ["ping"],
    script: "ping -c 1 -W 2 127.0.0.1",
    prints: /1 received/,
  },
  {
    what: "crontab keeps a table",
    needs: ["crontab"],
    script: "mkdir -p /var/spool/cron/crontabs; echo '* * * * * true' | crontab - && crontab -l",
    prints: /\* \* \* \* \* true/,
  },
  {
    what: "dpkg lists packages, none of which it has under an empty /var",
    needs: ["dpkg"],
    script: "dpkg --version | head -n 1; dpkg -l | wc -l",
    prints: /^Debian 'dpkg'.*\n[^]*\d+\n$/,
  },
];

/** On a root file system of Debian; what changes users needs more than one id. */
export const DEBIAN_PROGRAMS: readonly ProgramCase[] = [
  { what: "it is Debian", needs: [], script: ". /etc/os-release; echo $ID", prints: /^debian\n$/ },
  {
    what: "dpkg lists packages",
    needs: [],
    script: "dpkg -l | grep -c ^ii; dpkg -S /bin/bash",
    prints: /^\d{2,}\nbash: \/bin\/bash\n$/,
  },
  {
    what: "dpkg builds and installs a package",
    needs: [],
    script: `mkdir -p p/DEBIAN p/opt && echo hi >p/opt/hi && printf \\
'Package: hi\nVersion: 1\nArchitecture: all\nMaintainer: a <a@b>\nDescription: hi\n' >p/DEBIAN/control
dpkg-deb -b p hi.deb >/dev/null && dpkg -i hi.deb >/dev/null && cat /opt/hi && dpkg -s hi | grep Status`,
    prints: /hi\nStatus: install ok installed\n$/,
  },
  {
    what: "apt tells its version, and has nothing to update from without a network",
    needs: [],
    script:
      "apt --version; apt-get -q update -o Acquire::Retries=0 -o APT::Sandbox::User=root; echo $?",
    prints: /^apt \d[^]*(?:Could not resolve|Temporary failure resolving)[^]*\n(?:0|100)\n$/,
  },
  {
    what: "useradd makes a user, who owns his home",
    needs: [],
    script:
      "useradd -m ann && stat -c %U:%G /home/ann && su ann -c 'id -un; touch ~/x && echo wrote'",
    prints: /^ann:ann\nann\nwrote\n$/,
    withOneId: /^root:root\nsu: cannot set groups: Operation not permitted\n$/,
  },
  {
    what: "adduser makes a user",
    needs: [],
    script: "adduser --quiet --disabled-password --gecos '' bob && id -u bob",
    prints: /^1000\n$/,
    withOneId: /^Stopped: chown 1000:1000 \/home\/bob: Invalid argument\n/,
  },
  {
    what: "sudo becomes root again, with --allow-setuid",
    needs: [],
    script: `useradd -m ann && echo 'ann ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/ann &&
exec setpriv --reuid=ann --regid=ann --init-groups sudo -n id -u`,
    prints: /^0\n$/,
    withoutUserns: /^(?:sudo: unable to send audit message: .*\n)?0\n$/,
    args: ["--allow-setuid"],
    withOneId: /^setpriv: setresuid failed: Invalid argument\n$/,
  },
  {
    what: "sudo says what forbids it without --allow-setuid",
    needs: [],
    script: "exec setpriv --reuid=1000 --regid=1000 --clear-groups sudo -n id -u",
    prints: /no new privileges/,
    withOneId: /^setpriv: setresuid failed: Invalid argument\n$/,
  },
  {
    what: "root uses su and sudo without any option",
    needs: [],
    script: "su -c 'id -u' && sudo -n id -u",
    prints: /^0\n(?:sudo: .*\n)*0\n$/,
    withOneId: /^su: cannot set groups: Operation not permitted\n$/,
  },
  {
    what: "chown gives files to other users",
    needs: [],
    script: "touch f && chown www-data:mail f && stat -c %U:%G f",
    prints: /^www-data:mail\n$/,
    withOneId: /^chown: changing ownership of 'f': Invalid argument\n/,
  },
  {
    what: "what a host's user owns is changed in place",
    needs: [],
    script: "echo '# x' >>/etc/profile && tail -n 1 /etc/profile",
    prints: /^# x\n$/,
  },
  {
    what: "ping reaches loopback",
    needs: [],
    script: "ping -c 1 -W 2 127.0.0.1",
    prints: /1 received/,
  },
  {
    what: "crontab keeps a table",
    needs: [],
    script: "echo '* * * * * true' | crontab - && crontab -l",
    prints: /\* \* \* \* \* true/,
  },
  {
    what: "passwd changes a password",
    needs: [],
    script: "printf 'root:secret\n' | chpasswd && passwd -S root",
    prints: /^root P /,
  },
  {
    what: "perl and bash run, with no complaint about the locale",
    needs: [],
    script: `perl -e 'print "hi\n"' && bash -c 'echo \${#LANG}'`,
    prints: /^hi\n7\n$/,
  },
];
