import { DEVICE, nodeAddresses, portName, V4_PREFIX_BITS, V6_PREFIX_BITS } from "./addresses.ts";
import { ipBatch, run } from "./commands.ts";

/**
 * How the nodes are joined. "direct": two nodes, one cable. "bridge": a switch of the kernel's. Both add a
 * few µs and have nothing of ours in them. "wire": every packet crosses the emulator.
 */
export type Topology = "direct" | "bridge" | "wire";

/** What is to be built: node i has namespace i. */
interface TopologyPlan {
  readonly topology: Topology;
  readonly namespaces: readonly string[];
  /** Of the bridge or the emulator. */
  readonly hub: string;
  readonly mtu: number;
}

const BRIDGE = "br0";

/**
 * Makes the namespaces, cables and addresses. Whatever was made when it throws is the reaper's.
 * @throws NamespaceError `command_failed`
 */
export async function buildTopology(plan: TopologyPlan): Promise<void> {
  const { namespaces, hub } = plan;
  for (const namespace of [...namespaces, hub]) await run("ip", ["netns", "add", namespace]);
  await ipBatch(hub, hubLines(plan));
  await Promise.all(namespaces.map((namespace, node) => ipBatch(namespace, nodeLines(plan, node))));
}

/** Devices of the hub; the cables' other ends are born in the nodes' namespaces. */
function hubLines({ topology, namespaces, mtu }: TopologyPlan): string[] {
  if (topology === "direct") {
    const [a, b] = namespaces.map((namespace, node) => `${DEVICE} netns ${namespace} ${link(node, mtu)}`);
    return [`link add name ${a} type veth peer name ${b}`];
  }
  const lines =
    topology === "bridge"
      ? [`link add name ${BRIDGE} mtu ${mtu} type bridge forward_delay 0 stp_state 0`]
      : [];
  for (const [node, namespace] of namespaces.entries()) {
    const port = portName(node);
    lines.push(
      `link add name ${port} mtu ${mtu} type veth peer name ${DEVICE} netns ${namespace} ${link(node, mtu)}`,
      // The hub says nothing itself: no address, so no neighbour discovery or multicast reports.
      `link set ${port} addrgenmode none`,
      ...(topology === "bridge" ? [`link set ${port} master ${BRIDGE}`] : []),
      `link set ${port} up`,
    );
  }
  if (topology === "bridge") lines.push(`link set ${BRIDGE} addrgenmode none`, `link set ${BRIDGE} up`);
  return lines;
}

/** The node knows all others beforehand: no packet of a test waits for ARP or neighbour discovery. */
function nodeLines({ namespaces }: TopologyPlan, node: number): string[] {
  const own = nodeAddresses(node);
  const others = namespaces.flatMap((_, other) => (other === node ? [] : [nodeAddresses(other)]));
  return [
    "link set lo up",
    `link set ${DEVICE} addrgenmode none`,
    `address add ${own.v4}/${V4_PREFIX_BITS} dev ${DEVICE}`,
    `address add ${own.v6}/${V6_PREFIX_BITS} dev ${DEVICE} nodad`,
    `link set ${DEVICE} up`,
    ...others.flatMap(({ v4, v6, mac }) => [
      `neighbour add ${v4} lladdr ${mac} nud permanent dev ${DEVICE}`,
      `neighbour add ${v6} lladdr ${mac} nud permanent dev ${DEVICE}`,
    ]),
  ];
}

function link(node: number, mtu: number): string {
  return `address ${nodeAddresses(node).mac} mtu ${mtu}`;
}
