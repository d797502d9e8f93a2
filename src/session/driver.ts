/**
 * The program that our bash runs: it reads commands from a channel, never from its terminal.
 *
 * It is the PROMPT_COMMAND of an interactive bash, and never returns; whatever throws bash back to its
 * prompt, such as Ctrl-C, starts it again. The pipes are opened by path for each use, so that while a
 * command runs there is no descriptor of ours to inherit or to close. What it does for itself stands
 * in conditions and in groups whose output is dropped, where `set -e`, traps and `set -x` do not show.
 *
 * Names: `d` the channel's directory, `id` the command under way, `c` its text, `k` its kind, `s` the
 * status that `$?` shall be, `x` a status decided elsewhere, `y` what else is told, `p` flags to be
 * given back, `o` the stderr that was put aside, `l` the last command seen.
 */

/** The signal by which shell code that ignores SIGINT is stopped: a real-time one, used by nobody. */
export const STOP_SIGNAL = 41;

/** How a shell ends that finds its channel removed. */
export const CHANNEL_LOST = 86;

/** Variables that tell a new shell its part; they are gone before the first command. */
export const DRIVER_VARIABLES = {
  directory: "__MS_D",
  /** The id under which it tells that it is ready. */
  id: "__MS_ID",
  /** What a former shell left: its directory, exports and umask. */
  state: "__MS_STATE",
} as const;

/** What a report adds to a status. */
export const REPORT_FLAG = {
  /** SIGINT threw the shell to its prompt, for which it printed a newline. */
  thrown: "t",
  /** The shell executed itself anew: what was not exported is lost. */
  executed: "r",
  /** The text is no valid shell: bash's words were printed in place of the command's. */
  syntax: "x",
} as const;

/** Ends only the command that runs: SIGINT throws to the prompt, its newline goes nowhere. */
const ABORT = String.raw`
__ms_abort() { __ms_x=$1; \builtin trap -p INT >|"$__ms_d/trap"; \builtin trap - INT; \exec {__ms_o}>&2 2>/dev/null; \builtin kill -INT $$; :; }`;

/** Puts flags aside that would change what we do; says nothing of it under \`set -x\` if redirected. */
const OFF = String.raw`
__ms_off() { case $- in *[aex]*) __ms_p=$__ms_p${"$"}{-//[!aex]/}; \builtin set +aex; \builtin export -n ${"$"}{!__ms_*};; esac; }
__ms_status() { return "$1"; }
__ms_reopen() { [[ -e /dev/fd/2 ]] || \exec 2<>/dev/tty; [[ -e /dev/fd/1 ]] || \exec >/dev/tty; [[ -e /dev/fd/0 ]] || \exec </dev/tty; }`;

/** \`exit\` ends the command, not the shell; in a subshell it is what it always was. */
const EXIT = String.raw`
exit() { { __ms_e=${"$"}{1:-$?}; [[ $BASHPID == "$$" ]] || \builtin exit "$__ms_e"; [[ $__ms_e == *[!0-9]* ]] && __ms_e=2; __ms_off; } 2>/dev/null; __ms_abort $((__ms_e & 255)); }
logout() { exit "$@"; }
\builtin trap '{ __ms_e=$?; [[ $- == *e* && $BASHPID == "$$" && $__ms_id ]] && __ms_off; } 2>/dev/null && __ms_abort "$__ms_e"' ERR`;

/** What no function can stop, such as \`builtin exit\`, ends in a new bash with the same exports. */
const BYE = String.raw`
__ms_bye() { __ms_s=$?; [[ $BASHPID == "$$" ]] || \builtin return; __ms_off; [[ $__ms_o ]] && \exec 2>&"$__ms_o" {__ms_o}>&-; { : </dev/tty; } 2>/dev/null || \builtin return; __MS_D=$__ms_d __MS_ID=$__ms_id __MS_X=$__ms_s __MS_Y=r \exec "$BASH" --noprofile --noediting --rcfile "$__ms_d/driver" -i; }
\builtin trap __ms_bye EXIT
\builtin trap '{ __ms_off; } 2>/dev/null; __ms_abort 137' ${STOP_SIGNAL}`;

/** At the prompt again: the status of what threw us here, and stderr back in its place. */
const ENTER = String
  .raw`{ __ms_e=$?; [[ $BASHPID == "$$" ]] || \builtin exit 130; [[ $__ms_x ]] || { __ms_x=$__ms_e; [[ $__ms_x == 130 && $__ms_id ]] && __ms_y=$__ms_y"t"; }; __ms_off; } 2>/dev/null; [[ $__ms_o ]] && { \exec 2>&"$__ms_o" {__ms_o}>&-; __ms_o=; \. "$__ms_d/trap"; };`;

/** Tells how the last command ended, and keeps what a new shell would need, should this one be lost. */
const REPORT = String
  .raw`__ms_s=$?; __ms_off; [[ $__ms_x ]] && __ms_s=$__ms_x; __ms_x=; \unset -f builtin; [[ -p $__ms_d/report ]] || __ms_lost;
if [[ $__ms_id ]]; then \builtin printf "e %s %s %s\n" "$__ms_id" "$__ms_s" "$__ms_y" >&9 || __ms_lost; fi; __ms_id= __ms_y= __ms_c=;
[[ ${"$"}{PROMPT_COMMAND-} == "$__ms_loop" ]] || PROMPT_COMMAND=$__ms_loop; [[ -t 255 ]] || \exec 255<>/dev/tty; \builtin jobs;
{ \builtin export -p; \builtin umask -p; \builtin printf "cd %q\n" "$PWD"; } >|"$__ms_d/state";`;

/**
 * Waits for the next command: how it is run in two letters, and an id that is not the last one again.
 * That it has begun, and after which process (proc_loadavg(5)), is written over the text, for whoever
 * asks: a report would only wake us up.
 * It is checked by being parsed within what is never executed: a stray end of a compound command fits
 * nothing there. If that fails, `bash -n` says why; who knows no fault, lets the command itself tell.
 */
const RECEIVE = String
  .raw`until IFS= \builtin read -r __ms_k <"$__ms_d/kick" && __ms_id=${"$"}{__ms_k:2} && [[ $__ms_k == [cu][in]???????? && $__ms_id != "$__ms_l" ]]; do __ms_id=; [[ -p $__ms_d/kick ]] || __ms_lost; done; __ms_l=$__ms_id;
IFS= \builtin read -r -d "" __ms_c <"$__ms_d/text"; __ms_e=; IFS=" " \builtin read -r __ms_e __ms_e __ms_e __ms_e __ms_e </proc/loadavg; \builtin printf "s %s %s\n" "$__ms_id" "$__ms_e" 1<>"$__ms_d/text";
case $__ms_k in c*) \builtin eval "case x in y) { :$__ms_n$__ms_c$__ms_n$__ms_n} ;; esac" || { __ms_e=$(\exec -a bash "$BASH" -n <<<"$__ms_c" 2>&1); [[ $__ms_e ]] && __ms_k=x; };; esac;
case $__ms_k in x) __ms_y=x;; *) __ms_z=${"$"}{__ms_p:+"set -$__ms_p; "}; __ms_p=;; esac; :;`;

/** Descriptors that the last command closed are the terminal again. */
const REOPEN = "[[ -e /dev/fd/0 && -e /dev/fd/1 && -e /dev/fd/2 ]] || __ms_reopen; :;";

/** Executed with the last status and flags, unless it is no shell: then what is said stands for it. */
const RUN = String
  .raw`case $__ms_k in x) \builtin printf "%s\n" "$__ms_e"; __ms_status 2;; ?n*) \builtin eval "$__ms_z$__ms_c" </dev/null;; *) \builtin eval "$__ms_z$__ms_c";; esac`;

/** On one line, so that the lines of a command count from 1. */
const LOOP =
  `${ENTER} while { ${REPORT} ${RECEIVE} } >/dev/null 2>&1 9>|"$__ms_d/report" || __ms_lost; ${REOPEN} do if __ms_status "$__ms_s"; then ${RUN}; else ${RUN}; fi; done; { __ms_x=$?; __ms_off; } 2>/dev/null; __ms_abort "$__ms_x"`
    .replaceAll("\n", " ");

/** The text that bash reads at its start (bash(1), --rcfile). */
export const DRIVER = `__ms_d=$__MS_D __ms_id=$__MS_ID __ms_x=\${__MS_X-} __ms_y=\${__MS_Y-} \
__ms_s=0 __ms_c= __ms_k= __ms_e= __ms_p= __ms_o= __ms_l= __ms_z= __ms_n=$'\\n'
[[ \${__MS_STATE-} ]] && . "$__MS_STATE" >/dev/null 2>&1
unset __MS_D __MS_ID __MS_X __MS_Y __MS_STATE HISTFILE MAILCHECK
set +o history +H -E; PS1= PS2= PS0=; shopt -u checkjobs huponexit checkwinsize; shopt -s execfail
__ms_lost() { \\builtin trap - EXIT; \\builtin exit ${CHANNEL_LOST}; }
${ABORT}${OFF}${EXIT}${BYE}
__ms_loop='
${LOOP.replaceAll("'", `'\\''`)}'
PROMPT_COMMAND=$__ms_loop
`;
