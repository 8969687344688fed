# Stands in for OpenWrt's /lib/functions.sh and procd.sh, with the calls that an init script makes. A configuration is
# read as there: its lines are calls of the first three. Each instance becomes a file of its parameters in /instances.
config() { section=$2; sections="$sections $2"; }
option() { eval "${section}_$1=\$2"; }
list() { eval "${section}_$1=\"\${${section}_$1} \$2\""; }
config_load() { sections=; . "/etc/config/$1"; }
config_get() { eval "$1=\${$2_$3:-\$4}"; }
config_get_bool() { config_get "$@"; }
config_foreach() { for each in $sections; do "$1" "$each"; done; }
config_list_foreach() { config_get values "$1" "$2"; for value in $values; do "$3" "$value"; done; }

procd_open_instance() { instance=/instances/$1; : >"$instance"; }
procd_set_param() { for word in "$@"; do echo "$word"; done >"$instance.$1"; sed -i 1d "$instance.$1"; }
procd_append_param() { kind=$1; shift; for word in "$@"; do echo "$word"; done >>"$instance.$kind"; }
procd_close_instance() { :; }
procd_add_reload_trigger() { echo "config $1" >>/instances/triggers; }
procd_add_reload_interface_trigger() { echo "interface $1" >>/instances/triggers; }

# Two interfaces of /etc/config/network: the second is not up.
uci() { case $3 in network.lan | network.down) echo interface ;; esac; }
network_get_device() { [ "$2" = lan ] && eval "$1=br-lan"; }
logger() { echo "$3" >>/instances/log; }
