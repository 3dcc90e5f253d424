import { DEVICE, nodeAddresses, portName, V4_PREFIX_BITS, V6_PREFIX_BITS } from "./addresses.ts";
import { ipBatch, run } from "./commands.ts";

/**
 * "direct": two nodes, one cable. "bridge": a kernel bridge. Both add a few µs and no emulation. "wire": all
 * packets pass the emulator.
 */
export type Topology = "direct" | "bridge" | "wire";

/** Node i has namespace i. */
interface TopologyPlan {
  readonly topology: Topology;
  readonly namespaces: readonly string[];
  readonly hub: string;
  readonly mtu: number;
}

const BRIDGE = "br0";

/**
 * Creates namespaces, cables and addresses. On failure the reaper removes the created part.
 * @throws NamespaceError `command_failed`
 */
export async function buildTopology(plan: TopologyPlan): Promise<void> {
  const { namespaces, hub } = plan;
  for (const namespace of [...namespaces, hub]) await run("ip", ["netns", "add", namespace]);
  await ipBatch(hub, hubLines(plan));
  await Promise.all(namespaces.map((namespace, node) => ipBatch(namespace, nodeLines(plan, node))));
}

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
      // No address on the hub, so it sends no neighbour discovery or multicast reports.
      `link set ${port} addrgenmode none`,
      ...(topology === "bridge" ? [`link set ${port} master ${BRIDGE}`] : []),
      `link set ${port} up`,
    );
  }
  if (topology === "bridge") lines.push(`link set ${BRIDGE} addrgenmode none`, `link set ${BRIDGE} up`);
  return lines;
}

/** Static neighbours, so that no packet waits for ARP or neighbour discovery. */
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
