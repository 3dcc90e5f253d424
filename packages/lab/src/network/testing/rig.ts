import { createSocket, type Socket as UdpSocket } from "node:dgram";
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { onTestFinished } from "vitest";
import { EmulatedNetwork, type EmulatedNetworkOptions } from "../emulated-network.ts";
import { IDEAL_LINK, type LinkChange } from "../links.ts";
import type { PairRecord } from "../record.ts";
import { NO_TRAFFIC } from "../relay/traffic-log.ts";

export type Reachable = Pick<EmulatedNetwork, "nodeAddress" | "expose" | "resolve">;

/** A network of `a`, `b` and further nodes with equal links; stopped with the test. */
export async function startNetwork(
  change: LinkChange = {},
  options: Partial<EmulatedNetworkOptions> = {},
): Promise<EmulatedNetwork> {
  const nodes = options.nodes ?? ["a", "b"];
  const link = { ...IDEAL_LINK, ...(change as object) };
  const links = nodes.map(() => nodes.map(() => link));
  const network = await EmulatedNetwork.start({ nodes, links, logger: new MemoryLogger(), ...options });
  onTestFinished(() => network.stop());
  return network;
}

export async function udpResponder(
  network: Reachable,
  node: string,
  answer: (packet: Buffer) => Buffer | null = (packet) => packet,
): Promise<number> {
  const socket = createSocket("udp4");
  onTestFinished(() => void socket.close());
  socket.on("message", (packet, from) => {
    const reply = answer(packet);
    if (reply !== null) socket.send(reply, from.port, from.address);
  });
  socket.bind(0, network.nodeAddress(node));
  await once(socket, "listening");
  const { port } = socket.address();
  await network.expose(node, { protocol: "udp", port });
  return port;
}

export async function udpClient(
  network: Reachable,
  source: string,
  target: string,
  port: number,
): Promise<UdpSocket> {
  const socket = createSocket("udp4");
  onTestFinished(() => void socket.close());
  const to = network.resolve(source, target, { protocol: "udp", port });
  socket.on("error", () => undefined);
  socket.connect(to.port, to.host);
  await once(socket, "connect");
  return socket;
}

export async function tcpServer(
  network: Reachable,
  node: string,
  serve: (socket: Socket) => void,
): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    serve(socket);
  });
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  server.listen(0, network.nodeAddress(node));
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await network.expose(node, { protocol: "tcp", port });
  return port;
}

export function tcpClient(network: Reachable, source: string, target: string, port: number): Socket {
  const to = network.resolve(source, target, { protocol: "tcp", port });
  const socket = connect({ ...to, allowHalfOpen: true, noDelay: true });
  onTestFinished(() => void socket.destroy());
  return socket;
}

export async function recordOf(
  network: EmulatedNetwork,
  source: string,
  target: string,
): Promise<PairRecord> {
  const pairs = await network.record({ lastMs: 120_000 });
  const found = pairs.find((pair) => pair.source === source && pair.target === target);
  return found ?? { source, target, udp: NO_TRAFFIC, tcp: NO_TRAFFIC };
}

export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await pause(5);
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
