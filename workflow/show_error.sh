# `|| show_error LOG` after a step: its message on the terminal too, and its exit code kept. The
# message is what follows the traceback, or the last lines with a time of progress; a full disk may
# have kept it out of the log.
show_error() {
    code=$?
    said=$(awk -v code=$code '
    /^[0-9][0-9]:[0-9][0-9]:[0-9][0-9] |^  File "|^usage: / { n = 0; skip = !/^[0-9]/; next }
    skip && /^ / { next }
    { skip = 0; line[++n] = $0 }
    END {
        if (code > 128) print "error: killed by signal " (code - 128) " (memory, a time limit?)"
        else if (!n) print "error: exit code " code
        sub(/^[A-Za-z_.]*(Error|Exception): (\[Errno [0-9]+\] )?/, "error: ", line[1])
        for (i = 1; i <= n; i++) print line[i]
    }' "$1")
    free=$(df -Pk "$1" 2>/dev/null | awk 'NR == 2 { print $4 }') || free=
    case $said in
    *"no space left"*) ;;
    *) [ "${free:-64}" -ge 64 ] ||
        said="error: $1: no space left on its disk; free some, then run the same again" ;;
    esac
    printf '%s\n' "$said" >&2
    exit $code
}
# A step writes its warnings there too (pipeline/progress.py): 2 is its log.
exec 3>&2
REATTEND_TERMINAL=$(stat -Lc 3:%d:%i /proc/self/fd/3) && export REATTEND_TERMINAL
