import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import {
  KernelSocket,
  Poller,
  READABLE,
  ReceiveBatch,
  SYS,
  isLibcSupported,
  loadLibc,
  type Libc,
} from "./index.ts";

describe.skipIf(!isLibcSupported())("streams and the poller", () => {
  const cleanups: (() => void)[] = [];
  afterEach(() => {
    for (const cleanup of cleanups.splice(0).reverse()) cleanup();
  });

  async function listen(onConnection: (socket: Socket) => void): Promise<number> {
    const server: Server = createServer((socket) => {
      cleanups.push(() => socket.destroy());
      onConnection(socket.on("error", () => {}));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    cleanups.push(() => server.close());
    const address = server.address();
    return typeof address === "object" && address !== null ? address.port : 0;
  }

  function open(libc: Libc, type: number): KernelSocket {
    const socket = KernelSocket.open(libc, { family: SYS.AF_INET, type, protocol: 0 });
    cleanups.push(() => socket.close());
    return socket;
  }

  test("the kernel tells the handshake's round-trip time of an open connection", async () => {
    const libc = await loadLibc();
    const port = await listen(() => {});
    const socket = open(libc, SYS.SOCK_STREAM);
    const startMs = performance.now();
    expect(socket.connect("127.0.0.1", port)).toBe(true);
    const poller = new Poller(libc);
    let openMs = 0;
    poller.add(socket.fd, SYS.POLLOUT, () => (openMs = performance.now()));
    expect(poller.wait(5000)).toBe(1);
    expect(socket.takeError()).toBe(0);
    const info = socket.tcpInfo();
    expect(info?.retransmits).toBe(0);
    expect(info?.rttUs).toBeGreaterThan(0);
    expect(info?.rttUs).toBeLessThanOrEqual((openMs - startMs) * 1000);
    expect(open(libc, SYS.SOCK_DGRAM).tcpInfo()).toBeNull();
    poller.close();
  });

  test("a refused connection's error has the system's name", async () => {
    const libc = await loadLibc();
    const taken = open(libc, SYS.SOCK_STREAM);
    taken.bind("127.0.0.1", 0);
    const socket = open(libc, SYS.SOCK_STREAM);
    socket.connect("127.0.0.1", taken.localAddress().port);
    const poller = new Poller(libc);
    poller.add(socket.fd, SYS.POLLOUT, () => {});
    expect(poller.wait(5000)).toBe(1);
    expect(libc.errorName(socket.takeError())).toBe("ECONNREFUSED");
    expect(libc.errorName(99_999)).toBe("errno_99999");
    poller.close();
  });

  test("a connection that is to be reset leaves its peer no orderly end", async () => {
    const libc = await loadLibc();
    const listener = open(libc, SYS.SOCK_STREAM);
    listener.bind("127.0.0.1", 0);
    libc.listen(listener.fd, 4);
    const peer = connect(listener.localAddress().port, "127.0.0.1");
    await once(peer, "connect");
    const address = libc.block(28);
    const length = libc.block(4);
    length.view.setUint32(0, 28, true);
    const accepted = new KernelSocket(libc, libc.accept(listener.fd, address, length, SYS.SOCK_CLOEXEC));
    expect(accepted.resetOnClose()).toBe(true);
    const ended = once(peer, "error");
    accepted.close();
    expect(await ended).toMatchObject([{ code: "ECONNRESET" }]);
    for (const block of [address, length]) libc.free(block);
  });

  test("who wakes is told before any handler", async () => {
    const libc = await loadLibc();
    const [sender, receiver] = [open(libc, SYS.SOCK_DGRAM), open(libc, SYS.SOCK_DGRAM)];
    receiver.bind("127.0.0.1", 0);
    sender.connect("127.0.0.1", receiver.localAddress().port);
    const poller = new Poller(libc);
    const story: string[] = [];
    poller.add(receiver.fd, READABLE, () => story.push("handler"));
    libc.send(sender.fd, libc.block(8), 0, 8, 0);
    poller.wait(1000, () => story.push("woke"));
    expect(story).toEqual(["woke", "handler"]);
    poller.close();
  });

  test("packets in quick succession are waited for without sleep, the expected socket first; a pause ends that", async () => {
    const libc = await loadLibc();
    const [sender, receiver] = [open(libc, SYS.SOCK_DGRAM), open(libc, SYS.SOCK_DGRAM)];
    receiver.bind("127.0.0.1", 0);
    sender.connect("127.0.0.1", receiver.localAddress().port);
    const data = libc.block(8);
    const batch = new ReceiveBatch(libc, 1, 8);
    const poller = new Poller(libc, { spin: true });
    let polled = 0;
    let attempted = 0;
    const read = (): boolean => batch.receive(receiver.fd) > 0;
    poller.add(receiver.fd, READABLE, () => {
      polled++;
      read();
    });
    poller.expect(() => {
      if (!read()) return false;
      attempted++;
      return true;
    });
    let sent = 0;
    const enough = (): boolean => attempted >= 5 || sent >= 10_000;
    while (!enough()) {
      sent++;
      libc.send(sender.fd, data, 0, 8, 0);
      expect(poller.wait(1000)).toBe(1);
      expect(polled + attempted).toBe(sent);
    }
    expect(attempted).toBe(5);
    expect(polled).toBeGreaterThanOrEqual(8);
    expect(poller.wait(5)).toBe(0);
    expect(poller.awake).toBe(false);
    const before = polled;
    libc.send(sender.fd, data, 0, 8, 0);
    poller.wait(1000);
    expect(polled).toBe(before + 1);
    poller.close();
  });
});
