import { createSocket, type RemoteInfo, type Socket as UdpSocket } from "node:dgram";
import { createServer, type Server, type Socket } from "node:net";
import { isLibcSupported, KernelSocket, ReceiveBatch, SYS, loadLibc } from "@isochrone/kernel-sockets";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { LOOP_KINDS, openLoop, until, type LoopKind } from "../../testing/harness.ts";
import type { Loop } from "../loop.ts";
import type { DatagramSocket, Remote, StreamSocket } from "./port.ts";

const CASES = LOOP_KINDS.flatMap((kind) => [[kind, "127.0.0.1"] as const, [kind, "::1"] as const]);

interface Seen {
  readonly packets: string[];
  readonly arrivals: { readonly atMs: number; readonly kernelNs: number }[];
  readonly departures: Map<number, number>;
  readonly errors: string[];
  opened: boolean;
}

interface StreamSeen extends Omit<Seen, "opened"> {
  openedAtMs: number | null;
}

describe.each(CASES)("%s sockets over %s", (kind, address) => {
  let loop: Loop;
  const cleanups: (() => void)[] = [];

  beforeEach(() => {
    loop = openLoop(kind);
  });

  afterEach(() => {
    for (const cleanup of cleanups.splice(0).reverse()) cleanup();
    loop.close();
  });

  function remoteAt(port: number, values: Partial<Remote> = {}): Remote {
    return { address, port, bindAddress: address, dscp: 0, ...values };
  }

  function openDatagram(remote: Remote): { socket: DatagramSocket; seen: Seen } {
    const seen: Seen = { packets: [], arrivals: [], departures: new Map(), errors: [], opened: false };
    const socket = loop.sockets.openDatagram(remote, {
      onPacket: (packet, atMs, kernelNs) => {
        seen.packets.push(packet.toString());
        seen.arrivals.push({ atMs, kernelNs });
      },
      onSent: (tag, kernelNs) => seen.departures.set(tag, kernelNs),
      onOpen: () => (seen.opened = true),
      onError: (code) => seen.errors.push(code),
      onSendFailed: (code) => seen.errors.push(code),
    });
    cleanups.push(() => socket.close());
    return { socket, seen };
  }

  function openStream(remote: Remote): { socket: StreamSocket; seen: StreamSeen } {
    const seen: StreamSeen = {
      packets: [],
      arrivals: [],
      departures: new Map(),
      errors: [],
      openedAtMs: null,
    };
    const socket = loop.sockets.openStream(remote, {
      onOpen: (atMs) => (seen.openedAtMs = atMs),
      onData: (chunk, atMs, kernelNs) => {
        seen.packets.push(chunk.toString());
        seen.arrivals.push({ atMs, kernelNs });
      },
      onSent: (tag, kernelNs) => seen.departures.set(tag, kernelNs),
      onClosed: (reason) => seen.errors.push(reason),
    });
    cleanups.push(() => socket.close());
    return { socket, seen };
  }

  async function echo(): Promise<{ port: number; from: RemoteInfo[]; server: UdpSocket }> {
    const server = createSocket(address.includes(":") ? "udp6" : "udp4");
    const from: RemoteInfo[] = [];
    server.on("message", (packet, remote) => {
      from.push(remote);
      server.send(packet, remote.port, remote.address);
    });
    await new Promise<void>((resolve) => void server.bind(0, address, () => resolve()));
    cleanups.push(() => server.close());
    return { port: server.address().port, from, server };
  }

  async function listen(onConnection: (socket: Socket) => void): Promise<{ port: number; server: Server }> {
    const server = createServer((socket) => {
      socket.on("error", () => {});
      cleanups.push(() => socket.destroy());
      onConnection(socket);
    });
    await new Promise<void>((resolve) => void server.listen(0, address, resolve));
    cleanups.push(() => server.close());
    const bound = server.address();
    return { port: typeof bound === "object" && bound !== null ? bound.port : 0, server };
  }

  test("a datagram goes there and back whole, with times on the caller's clock", async () => {
    const { port } = await echo();
    const { socket, seen } = openDatagram(remoteAt(port));
    await until("the socket", () => seen.opened);
    const packet = Buffer.alloc(16);
    for (const [tag, text] of ["first", "second one", ""].entries()) {
      const beforeMs = performance.now();
      const length = packet.write(text);
      expect(socket.send(packet.subarray(0, length), tag)).toBeNull();
      await until("the echo", () => seen.packets.length === tag + 1);
      expect(seen.packets[tag]).toBe(text);
      expect(seen.arrivals[tag]?.atMs).toBeGreaterThan(beforeMs);
    }
    expect(seen.errors).toEqual([]);
  });

  test("what is not from the peer never arrives", async () => {
    const { port, from } = await echo();
    const { socket, seen } = openDatagram(remoteAt(port));
    await until("the socket", () => seen.opened);
    socket.send(Buffer.from("hello"), 0);
    await until("the request", () => from.length === 1);
    const stranger = createSocket(address.includes(":") ? "udp6" : "udp4");
    cleanups.push(() => stranger.close());
    for (let i = 0; i < 20; i++) stranger.send("fake", from[0]!.port, address);
    await until("the echo", () => seen.packets.length > 0);
    socket.send(Buffer.from("again"), 1);
    await until("the second echo", () => seen.packets.includes("again"));
    expect(seen.packets).toEqual(["hello", "again"]);
  });

  test("a closed port is told once, and the next packet still goes out", async () => {
    const { port, server } = await echo();
    await new Promise<void>((resolve) => void server.close(() => resolve()));
    cleanups.pop();
    const { socket, seen } = openDatagram(remoteAt(port));
    await until("the socket", () => seen.opened);
    expect(socket.send(Buffer.from("lost"), 0)).toBeNull();
    await until("the kernel's reason", () => seen.errors.length > 0);
    expect(seen.errors).toEqual(["ECONNREFUSED"]);
    const again = createSocket(address.includes(":") ? "udp6" : "udp4");
    cleanups.push(() => again.close());
    const texts: string[] = [];
    again.on("message", (packet) => texts.push(packet.toString()));
    await new Promise<void>((resolve) => void again.bind(port, address, () => resolve()));
    expect(socket.send(Buffer.from("found"), 1)).toBeNull();
    await until("the packet", () => texts.length > 0);
    expect(texts).toEqual(["found"]);
  });

  test("a closed socket says nothing any more", async () => {
    const { port } = await echo();
    const { socket, seen } = openDatagram(remoteAt(port));
    await until("the socket", () => seen.opened);
    socket.send(Buffer.from("late"), 0);
    socket.close();
    socket.close();
    const { socket: other, seen: second } = openDatagram(remoteAt(port));
    await until("the other socket", () => second.opened);
    other.send(Buffer.from("x"), 0);
    await until("another echo", () => second.packets.length > 0);
    expect(seen.packets).toEqual([]);
  });

  test("an address of no family that this host has is an error, later, not a throw", async () => {
    const { seen } = openDatagram(
      remoteAt(9, { bindAddress: address === "::1" ? "2001:db8::1" : "192.0.2.1" }),
    );
    expect(seen.errors).toEqual([]);
    await until("the error", () => seen.errors.length > 0);
    expect(seen).toMatchObject({ errors: ["EADDRNOTAVAIL"], opened: false });
    const { seen: stream } = openStream(
      remoteAt(9, { bindAddress: address === "::1" ? "2001:db8::1" : "192.0.2.1" }),
    );
    await until("the end", () => stream.errors.length > 0);
    expect(stream).toMatchObject({ errors: ["EADDRNOTAVAIL"], openedAtMs: null });
  });

  test("a stream opens, carries bytes both ways, and tells when the peer ends it", async () => {
    const peers: Socket[] = [];
    const { port } = await listen((peer) => {
      peers.push(peer);
      peer.on("data", (chunk: Buffer) => peer.write(chunk));
    });
    const { socket, seen } = openStream(remoteAt(port));
    await until("the connection", () => seen.openedAtMs !== null && peers.length > 0);
    expect(seen.openedAtMs).toBeGreaterThan(socket.startedMs);
    for (let tag = 0; tag < 3; tag++) {
      expect(socket.write(Buffer.from(`frame ${tag}`), tag)).toBeNull();
      await until("the echo", () => seen.packets.join("").endsWith(`frame ${tag}`));
    }
    peers[0]?.end();
    await until("the end", () => seen.errors.length > 0);
    expect(seen.errors).toEqual(["closed_by_peer"]);
    expect(socket.write(Buffer.from("too late"), 9)).toBe("not_open");
  });

  test("a refused connection is closed for that reason", async () => {
    const { port, server } = await listen(() => {});
    await new Promise<void>((resolve) => void server.close(() => resolve()));
    const { seen } = openStream(remoteAt(port));
    await until("the refusal", () => seen.errors.length > 0);
    expect(seen).toMatchObject({ errors: ["ECONNREFUSED"], openedAtMs: null });
  });

  test("closing resets the connection: the peer sees no orderly end", async () => {
    const ends: string[] = [];
    const { port } = await listen((peer) => {
      peer.on("error", (error) => ends.push("code" in error ? String(error.code) : "error"));
      peer.on("end", () => ends.push("end"));
    });
    const { socket, seen } = openStream(remoteAt(port));
    await until("the connection", () => seen.openedAtMs !== null);
    socket.close();
    await until("the reset", () => ends.length > 0);
    expect(ends).toEqual(["ECONNRESET"]);
    expect(seen.errors).toEqual([]);
  });

  test.runIf(kind === "kernel")("the kernel stamps departures and arrivals of both kinds", async () => {
    const { port } = await echo();
    const stream = await listen((peer) => void peer.on("data", (chunk: Buffer) => peer.write(chunk)));
    const udp = openDatagram(remoteAt(port));
    const tcp = openStream(remoteAt(stream.port));
    await until("both", () => udp.seen.opened && tcp.seen.openedAtMs !== null);
    for (let tag = 10; tag < 20; tag++) {
      for (const [send, seen] of [
        [() => udp.socket.send(Buffer.alloc(100), tag), udp.seen],
        [() => tcp.socket.write(Buffer.alloc(100), tag), tcp.seen],
      ] as const) {
        const beforeMs = performance.now();
        expect(send()).toBeNull();
        await until("the echo", () => seen.arrivals.length === tag - 9);
        const { atMs, kernelNs } = seen.arrivals.at(-1)!;
        const kernelMs = (kernelNs - (seen.departures.get(tag) ?? Number.NaN)) / 1e6;
        expect(kernelMs).toBeGreaterThan(0);
        expect(kernelMs).toBeLessThanOrEqual(atMs - beforeMs);
      }
    }
    const handshakeMs = tcp.socket.handshakeMs();
    expect(handshakeMs).toBeGreaterThan(0);
    expect(handshakeMs).toBeLessThan((tcp.seen.openedAtMs ?? 0) - tcp.socket.startedMs + 1);
  });

  test.runIf(kind === "kernel" && isLibcSupported())("packets carry the code point", async () => {
    const libc = await loadLibc();
    const family = address.includes(":") ? SYS.AF_INET6 : SYS.AF_INET;
    const receiver = KernelSocket.open(libc, { family, type: SYS.SOCK_DGRAM, protocol: 0 });
    cleanups.push(() => receiver.close());
    if (family === SYS.AF_INET) receiver.setOption(SYS.SOL_IP, SYS.IP_RECVTOS, 1);
    else receiver.setOption(SYS.SOL_IPV6, SYS.IPV6_RECVTCLASS, 1);
    receiver.bind(address, 0);
    const batch = new ReceiveBatch(libc, 1, 64);
    cleanups.push(() => batch.free());
    const { socket, seen } = openDatagram(remoteAt(receiver.localAddress().port, { dscp: 46 }));
    await until("the socket", () => seen.opened);
    socket.send(Buffer.from("x"), 0);
    await until("the packet", () => batch.receive(receiver.fd) === 1);
    expect(batch.info(0).trafficClass).toBe(46 << 2);
  });
});

test("every kind of sockets that this system has is tested", () => {
  const expected: LoopKind[] = isLibcSupported() ? ["kernel", "node"] : ["node"];
  expect(LOOP_KINDS).toEqual(expected);
});
