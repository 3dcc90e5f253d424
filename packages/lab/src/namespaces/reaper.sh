# Removes the network namespaces whose names begin with the given prefixes, as soon as standard input ends:
# when the lab is closed, or its process is dead, however it died. What still runs inside them is killed.
# usage: sh reaper.sh PREFIX...
trap '' INT TERM HUP QUIT
cat >/dev/null

remove() {
  for prefix in "$@"; do
    for path in /run/netns/"$prefix"*; do
      [ -e "$path" ] || continue
      name=${path##*/}
      for pid in $(ip netns pids "$name" 2>/dev/null); do
        [ "$pid" = "$PPID" ] || kill -KILL "$pid" 2>/dev/null
      done
      ip netns del "$name" 2>/dev/null || rm -f "$path"
    done
  done
}

remove "$@"
# The dead process may have left an "ip netns add" behind that was not done yet.
sleep 0.1
remove "$@"
for prefix in "$@"; do
  for path in /run/netns/"$prefix"*; do
    [ ! -e "$path" ] || exit 1
  done
done
