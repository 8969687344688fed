# In a guest with every queue: sets each up by the gateway and by its own lines, and prints where the two differ.
# The first word is the program.
ip link set lo up
ip link add lan type veth peer name home
ip link add wan type veth peer name internet
ip link add br0 type bridge
for device in lan wan home internet br0; do ip link set $device up; done
for device in lan wan; do ip link set $device master br0; done
ends="--lan lan --wan wan"

# CAKE lists flows as classes while they have packets. The number of an action depends on those before it.
see() {
    tc qdisc show | sed 's/direct_packets_stat.*//'
    # Classes of these queues are flows that have a packet now.
    for device in lan wan; do tc class show dev $device | grep -Ev '^class (cake|fq_codel|fq_pie)'; tc filter show dev $device; done
    tc filter show dev wan ingress | grep -v 'index . ref'
    nft list ruleset
}

while read -r framing queue; do
    cat > policy.toml <<END
[link]
down = "20mbit"
up = "2mbit"
overhead = "$framing"
[gateway]
shape = { up = "1900kbit", down = "19mbit" }
up = { $queue }
down = { $queue }
END
    case "$queue" in *priority* | *drr* | *htb*) cat classes.toml >> policy.toml ;; esac
    "$1" run $ends --engine kernel policy.toml --dry-run > lines 2> log || { cat log; continue; }
    "$1" run $ends --engine kernel --persist --listen none --user root policy.toml 2> log &
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        sleep 0.2
        grep -q queueing log && break
    done
    see > by-program
    kill -9 $!
    wait $! 2> /dev/null
    grep -q queueing log || cat log
    "$1" undo $ends > /dev/null
    sh lines > /dev/null 2>&1
    see > by-lines
    diff by-program by-lines && echo "same: $framing $queue"
    "$1" undo $ends > /dev/null
    tc qdisc show | grep 6a0:
done < cases

# This kernel has no type information, so nobody sees its packets.
cat > policy.toml <<'END'
[link]
down = "20mbit"
up = "2mbit"
[gateway]
shape = { up = "1900kbit", down = "19mbit" }
priority = ["game"]
up = { queue = "htb" }
END
"$1" run $ends --engine kernel --listen none --user root policy.toml 2> log
echo "ends with $?"
grep -o '`gateway.priority`: it needs to see single packets' log || cat log
"$1" truth wan --user root 2>&1 | grep -o 'single packets are not seen: this kernel was built without type information'
tc qdisc show | grep 6a0:
