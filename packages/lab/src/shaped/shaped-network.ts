// Nodes joined by links of limited capacity, on loopback and without privileges: connections end in real
// sockets, and their bytes pass the queues of each node on the path.
import { once } from "node:events";
import { createServer, connect, type Server, type Socket } from "node:net";
import type { Clock } from "@isochrone/runtime";
import type { FlowEnds, StageFlow, StageNetwork } from "../stages/stages.ts";
import { NetworkError } from "../network/errors.ts";
import { LinkQueue, type ClassCounters } from "./link-queue.ts";
import { matchKey, matchKeys, NO_RULES, type NodeRules, type PacketEnds } from "./node-rules.ts";

/** A full-duplex link; each direction has the capacity. */
export interface ShapedLink {
  readonly a: string;
  readonly b: string;
  readonly bitsPerSecond: number;
}

interface ShapedNetworkOptions {
  readonly nodes: readonly string[];
  readonly links: readonly ShapedLink[];
  readonly clock: Clock;
}

/** Payload of a packet; headers: Ethernet, IPv4, TCP with timestamps. */
const SEGMENT_BYTES = 1_448;
const HEADER_BYTES = 66;
/** Bytes of a connection in flight between nodes; beyond it the sender waits. */
const WINDOW_BYTES = 24 * SEGMENT_BYTES;
const FIRST_EPHEMERAL_PORT = 32_768;
const EPHEMERAL_PORTS = 28_000;
const LOOPBACK = "127.0.0.1";

interface Packet {
  readonly flow: Connection;
  readonly payload: Buffer;
  readonly bytes: number;
}

interface ShapedNode {
  readonly name: string;
  readonly address: string;
  readonly queues: Map<string, LinkQueue<Packet>>;
  /** Next hop on the shortest path, by node. */
  readonly nextHops: Map<string, string>;
  rules: NodeRules;
  version: number;
}

interface Decision {
  readonly version: number;
  readonly queue: LinkQueue<Packet>;
  readonly minor: number;
  readonly next: ShapedNode;
}

class Connection {
  readonly ends: PacketEnds;
  readonly target: string;
  readonly deliver: (payload: Buffer) => void;
  readonly decisions = new Map<string, Decision>();

  constructor(ends: PacketEnds, target: string, deliver: (payload: Buffer) => void) {
    this.ends = ends;
    this.target = target;
    this.deliver = deliver;
  }
}

export class ShapedNetwork implements StageNetwork<string> {
  readonly #nodes: ReadonlyMap<string, ShapedNode>;
  readonly #byAddress: ReadonlyMap<string, ShapedNode>;
  readonly #open = new Set<() => void>();
  #connections = 0;

  constructor({ nodes, links, clock }: ShapedNetworkOptions) {
    const made = nodes.map((name, at): ShapedNode => {
      const address = `10.86.${at >> 8}.${(at & 255) + 1}`;
      return { name, address, queues: new Map(), nextHops: new Map(), rules: NO_RULES, version: 0 };
    });
    this.#nodes = new Map(made.map((node) => [node.name, node]));
    this.#byAddress = new Map(made.map((node) => [node.address, node]));
    for (const { a, b, bitsPerSecond } of links) {
      if (!(bitsPerSecond > 0 && bitsPerSecond < Infinity))
        throw new NetworkError(
          "invalid_argument",
          `link ${a} - ${b} must have a capacity above 0, got ${bitsPerSecond}`,
        );
      for (const [from, to] of [
        [this.#node(a), this.#node(b)],
        [this.#node(b), this.#node(a)],
      ] as const) {
        const onSent = (packet: Packet): void => this.#forward(to, packet);
        from.queues.set(to.name, new LinkQueue({ bitsPerSecond, clock, onSent }));
      }
    }
    for (const node of made) findNextHops(node, this.#nodes);
  }

  address(node: string): string {
    return this.#node(node).address;
  }

  /** Routes to the neighbours' addresses, as the kernel reports them. */
  ways(node: string): Map<string, { device: string; gateway: null; isLocal: false }> {
    const neighbours = [...this.#node(node).queues.keys()];
    return new Map(
      neighbours.map((name) => [this.address(name), { device: name, gateway: null, isLocal: false }]),
    );
  }

  /** Replaces the node's rules. Devices are named after the neighbour. */
  setRules(node: string, rules: NodeRules): void {
    const shaped = this.#node(node);
    shaped.rules = rules;
    shaped.version++;
    for (const [device, queue] of shaped.queues) queue.setClasses(rules.devices.get(device)?.values() ?? []);
  }

  setCapacity({ a, b, bitsPerSecond }: ShapedLink): void {
    for (const [from, to] of [
      [a, b],
      [b, a],
    ] as const) {
      const queue = this.#node(from).queues.get(to);
      if (queue === undefined)
        throw new NetworkError("unknown_node", `${from} must have a link to ${to}, it has none`);
      queue.setCapacity(bitsPerSecond);
    }
  }

  counters(node: string): Map<string, Map<number, ClassCounters>> {
    return new Map([...this.#node(node).queues].map(([device, queue]) => [device, queue.counters()]));
  }

  async open({ from, to, port }: StageFlow<string>): Promise<FlowEnds> {
    const source = this.#node(from);
    const ends: PacketEnds = {
      source: source.address,
      sourcePort: FIRST_EPHEMERAL_PORT + (this.#connections++ % EPHEMERAL_PORTS),
      target: this.address(to),
      targetPort: port,
    };
    const sockets: Socket[] = [];
    const close = (): void => {
      this.#open.delete(close);
      for (const socket of sockets) socket.destroy();
    };
    this.#open.add(close);
    try {
      const [client, entry] = await socketPair(sockets);
      const [exit, peer] = await socketPair(sockets);
      this.#join(source, { ends, to }, entry, exit);
      return { client, peer, close };
    } catch (error) {
      close();
      throw error;
    }
  }

  close(): void {
    for (const close of this.#open) close();
    for (const { queues } of this.#nodes.values()) for (const queue of queues.values()) queue.stop();
  }

  /** Pipes the first socket's data through all nodes on the path into the second. */
  #join(
    source: ShapedNode,
    { ends, to }: { readonly ends: PacketEnds; readonly to: string },
    entry: Socket,
    exit: Socket,
  ): void {
    let underWay = 0;
    const arrived = (bytes: number): void => {
      underWay -= bytes;
      if (underWay < WINDOW_BYTES && entry.isPaused()) entry.resume();
    };
    const connection = new Connection(ends, to, (payload) =>
      exit.write(payload, () => arrived(payload.length)),
    );
    entry.on("data", (data: Buffer) => {
      underWay += data.length;
      if (underWay >= WINDOW_BYTES) entry.pause();
      for (let at = 0; at < data.length; at += SEGMENT_BYTES) {
        const payload = data.subarray(at, at + SEGMENT_BYTES);
        this.#forward(source, { flow: connection, payload, bytes: payload.length + HEADER_BYTES });
      }
    });
  }

  #forward(node: ShapedNode, packet: Packet): void {
    const { flow } = packet;
    if (node.name === flow.target) {
      flow.deliver(packet.payload);
      return;
    }
    let decision = flow.decisions.get(node.name);
    if (decision === undefined || decision.version !== node.version)
      flow.decisions.set(node.name, (decision = this.#decide(node, flow)));
    decision.queue.put(packet, decision.minor);
  }

  #decide(node: ShapedNode, { ends, target }: Connection): Decision {
    const { rules, version } = node;
    const keys = matchKeys(ends);
    const next = this.#routed(node, keys) ?? this.#node(node.nextHops.get(target)!);
    const queue = node.queues.get(next.name)!;
    const mark = keys.map((key) => rules.marks.get(key)).find((found) => found !== undefined);
    const minor = (mark ?? rules.hops.get(next.address))?.minor ?? 0;
    return { version, queue, minor, next };
  }

  #routed({ rules: { rules, routes } }: ShapedNode, keys: readonly string[]): ShapedNode | null {
    // The kernel uses the older of two rules for the same packets.
    const tables = new Map(
      [...rules.values()].toReversed().map(({ match, table }) => [matchKey(match), table]),
    );
    const table = keys.map((key) => tables.get(key)).find((found) => found !== undefined);
    if (table === undefined) return null;
    const route = [...routes.values()].find((each) => each.table === table);
    return route === undefined ? null : (this.#byAddress.get(route.gateway) ?? null);
  }

  #node(name: string): ShapedNode {
    const node = this.#nodes.get(name);
    if (node === undefined)
      throw new NetworkError("unknown_node", `a node of the network must be named, got ${name}`);
    return node;
  }
}

function findNextHops(node: ShapedNode, nodes: ReadonlyMap<string, ShapedNode>): void {
  const seen = new Map<string, string>([[node.name, ""]]);
  for (const [at, by] of seen)
    for (const neighbour of nodes.get(at)!.queues.keys())
      if (!seen.has(neighbour)) seen.set(neighbour, by === "" ? neighbour : by);
  for (const [target, by] of seen) if (by !== "") node.nextHops.set(target, by);
}

async function socketPair(sockets: Socket[]): Promise<[Socket, Socket]> {
  const server: Server = createServer().listen(0, LOOPBACK);
  try {
    await once(server, "listening");
    const accepted = new Promise<Socket>((resolve) => server.once("connection", resolve));
    const address = server.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const client = connect({ host: LOOPBACK, port, noDelay: true });
    sockets.push(client);
    client.on("error", () => undefined);
    await once(client, "connect");
    const peer = await accepted;
    sockets.push(peer);
    peer.on("error", () => undefined);
    peer.setNoDelay();
    return [client, peer];
  } finally {
    server.close();
  }
}
