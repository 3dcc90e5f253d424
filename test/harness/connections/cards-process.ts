// Creates interfaces of a node without devices and prints as JSON which are network cards.
import { execFileSync } from "node:child_process";
import { networkCards } from "@isochrone/kernel-sockets";

const COMMANDS = `
link add outer type veth peer name router
link add pod1 type veth peer name pod2
link add pods type bridge
link set pod1 master pods
link add overlay type vxlan id 7 remote 192.0.2.2 dstport 4789 dev outer
link add link outer name upper type macvlan
link set outer up
link set router up
link set upper up
link set overlay up
link set pods up
address add 192.0.2.1/24 dev upper
route add default via 192.0.2.2 dev upper`;

for (const command of COMMANDS.trim().split("\n")) execFileSync("ip", command.split(" "));
process.stdout.write(JSON.stringify(await networkCards()));
