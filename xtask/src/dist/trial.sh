# Tries the locklab that is first on the PATH, in an empty folder; VERSION is its version, and SHARE the folder of its pages.
set -eu

# The command, which has to end with this exit code; what it prints goes to the file `told`.
ends_with() {
    wanted=$1
    shift
    code=0
    "$@" >told 2>&1 || code=$?
    [ "$code" = "$wanted" ] || fail "$*: exit code $code, and not $wanted"
}

fail() {
    cat told
    echo "$1"
    exit 1
}

ends_with 0 locklab --version
grep -qx "locklab $VERSION" told || fail "another version"
ends_with 0 locklab run kleppmann/k1
ends_with 0 locklab record --for 1s --out measured

cat >history.jsonl <<'EOF'
{"lock-history":1,"model":"renewal","unit":"ms"}
{"process":"w1","type":"invoke","f":"acquire","time":0,"validity":1000}
{"process":"w1","type":"ok","f":"acquire","time":3}
{"process":"w2","type":"invoke","f":"acquire","time":10,"validity":1000}
{"process":"w2","type":"ok","f":"acquire","time":940}
EOF
ends_with 2 locklab judge history.jsonl

# Pages, and completions, which ask the program for what may follow.
grep -q 'locklab.attack' "$SHARE/man/man1/locklab-attack.1" || fail "no page of attack"
for file in bash-completion/completions/locklab fish/vendor_completions.d/locklab.fish; do
    grep -q 'COMPLETE' "$SHARE/$file" || fail "no completions: $file"
done
if command -v bash >/dev/null; then
    cat >complete.bash <<'EOF'
. "$SHARE/bash-completion/completions/locklab"
COMP_WORDS=(locklab att) COMP_CWORD=1 COMP_TYPE=9
_clap_complete_locklab locklab att locklab
[ "${COMPREPLY[*]}" = attack ]
EOF
    ends_with 0 bash complete.bash
fi

if command -v redis-server >/dev/null && command -v redis-cli >/dev/null; then
    locklab serve --port 0 >served 2>&1 &
    server=$!
    trap 'kill "$server" 2>/dev/null || true' EXIT
    until grep -qs master served; do
        kill -0 "$server" || fail "serve ended"
        sleep 0.05
    done
    ends_with 0 redis-cli -p "$(sed -n 's/^127.0.0.1:\([0-9]*\) .*/\1/p' served)" SET key value
    kill "$server"
    wait "$server"

    # The server loads the library within the program.
    ends_with 0 locklab doctor --json
    tr -d ' \n' <told | grep -q '"found":"theRedisserverloads' || fail "the server does not load the library"

    # A program of three lines, without a lock.
    cat >worker.sh <<'EOF'
value=$(redis-cli -u "$LOCKLAB_RESOURCE" GET account)
sleep 0.05
redis-cli -u "$LOCKLAB_RESOURCE" SET account "$value+"
EOF
    # A busy machine discards runs.
    for _ in 1 2 3 4 5 6 7 8; do
        locklab attack --scenario attack/drawn --seed 0 -- sh worker.sh >told 2>&1 || code=$?
        grep -q 'no run counts' told || break
    done
    [ "$code" = 2 ] && grep -q 'lost-update .* violated' told || fail "attack: exit code $code, and not 2"
else
    echo "skipped: serve, real servers and attack, since there is no redis-server or no redis-cli"
fi
