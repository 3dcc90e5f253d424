import { once } from "node:events";
import { readFileSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { afterEach, describe, expect, test } from "vitest";
import {
  KernelSocket,
  Poller,
  READABLE,
  ReceiveBatch,
  SYS,
  SendBatch,
  SystemCallError,
  isLibcSupported,
  loadLibc,
  socketAddress,
  type Libc,
} from "./index.ts";

describe.skipIf(!isLibcSupported())("kernel sockets", () => {
  const open: KernelSocket[] = [];
  afterEach(() => {
    for (const socket of open.splice(0)) socket.close();
  });

  function udp(libc: Libc, ip: string): KernelSocket {
    const family = ip.includes(":") ? SYS.AF_INET6 : SYS.AF_INET;
    const socket = KernelSocket.open(libc, { family, type: SYS.SOCK_DGRAM, protocol: 0 });
    open.push(socket);
    socket.bind(ip, 0);
    return socket;
  }

  test.each(["127.0.0.1", "::1"])(
    "a batch of packets over %s arrives whole, with the kernel's stamps of both ends",
    async (ip) => {
      const libc = await loadLibc();
      const receiver = udp(libc, ip);
      const sender = udp(libc, ip);
      const { port } = receiver.localAddress();
      expect(receiver.enableTimestamps({ sends: false })).toBe(true);
      expect(sender.enableTimestamps({ sends: true })).toBe(true);
      const to = socketAddress(libc, ip, port);
      const sends = new SendBatch(libc, 3, 64);
      for (const [i, text] of ["one", "three", "fifteen"].entries()) {
        sends.add(text.length, i === 0 ? to : socketAddress(libc, ip, port)).write(text);
      }
      expect(sends.full).toBe(true);
      expect(sends.send(sender.fd)).toBe(3);
      const batch = new ReceiveBatch(libc, 8, 64);
      const poller = new Poller(libc);
      const texts: string[] = [];
      const arrivals: number[] = [];
      poller.add(receiver.fd, READABLE, () => {
        const count = batch.receive(receiver.fd);
        for (let slot = 0; slot < count; slot++) {
          texts.push(batch.message(slot).toString());
          arrivals.push(batch.info(slot).kernelTime);
          expect(batch.sourceIp(slot)).toBe(ip);
          expect(batch.sourcePort(slot)).toBe(sender.localAddress().port);
        }
      });
      while (texts.length < 3) expect(poller.wait(2000)).toBe(1);
      expect(texts).toEqual(["one", "three", "fifteen"]);
      const departures = new Map<number, number>();
      for (let count = batch.receive(sender.fd, SYS.MSG_ERRQUEUE); count > 0;) {
        for (let slot = 0; slot < count; slot++) {
          const { sendNumber, kernelTime } = batch.info(slot);
          departures.set(sendNumber, kernelTime);
        }
        count = batch.receive(sender.fd, SYS.MSG_ERRQUEUE);
      }
      expect([...departures.keys()]).toEqual([0, 1, 2]);
      const now = libc.clock(SYS.CLOCK_REALTIME);
      for (const [i, arrival] of arrivals.entries()) {
        expect(arrival).toBeGreaterThanOrEqual(departures.get(i) ?? Number.NaN);
        expect(now - arrival).toBeGreaterThan(0);
        expect(now - arrival).toBeLessThan(60e9);
      }
      batch.free();
      sends.free();
      poller.close();
    },
  );

  test("a batch that the kernel takes in parts: what it refuses is dropped by hand, the rest goes out", async () => {
    const libc = await loadLibc();
    const receiver = udp(libc, "127.0.0.1");
    const sender = udp(libc, "127.0.0.1");
    const to = socketAddress(libc, "127.0.0.1", receiver.localAddress().port);
    const forbidden = socketAddress(libc, "255.255.255.255", 9);
    const sends = new SendBatch(libc, 8, 8);
    for (const [i, text] of ["a", "b", "no", "c", "no", "no", "d"].entries()) {
      sends.add(text.length, text === "no" ? forbidden : to).write(text);
      expect(sends.count).toBe(i + 1);
    }
    const story: (number | string)[] = [];
    while (sends.count > 0) {
      const sent = sends.sendSome(sender.fd);
      story.push(sent > 0 ? sent : libc.lastError());
      if (sent === 0) sends.dropFirst();
    }
    expect(story).toEqual([2, "EACCES", 1, "EACCES", "EACCES", 1]);
    const batch = new ReceiveBatch(libc, 2, 8);
    const texts: string[] = [];
    for (let count = batch.receive(receiver.fd); count > 0; count = batch.receive(receiver.fd)) {
      for (let slot = 0; slot < count; slot++) {
        texts.push(`${batch.message(slot).toString()} ${batch.sourceIp(slot)}`);
      }
    }
    expect(texts).toEqual(["a", "b", "c", "d"].map((text) => `${text} 127.0.0.1`));
    batch.free();
    sends.free();
  });

  test("nothing to read is no error, a wait without descriptors ends", async () => {
    const libc = await loadLibc();
    const batch = new ReceiveBatch(libc, 1, 64);
    expect(batch.receive(udp(libc, "127.0.0.1").fd)).toBe(0);
    expect(new Poller(libc).wait(1)).toBe(0);
  });

  test("errors name the call, the address and the system's reason", async () => {
    const libc = await loadLibc();
    const { port } = udp(libc, "127.0.0.1").localAddress();
    const second = KernelSocket.open(libc, { family: SYS.AF_INET, type: SYS.SOCK_DGRAM, protocol: 0 });
    open.push(second);
    expect(() => second.bind("127.0.0.1", port)).toThrow(
      new SystemCallError(`bind 127.0.0.1 port ${port}`, "EADDRINUSE"),
    );
    expect(() => second.bind("localhost", 1)).toThrow(/must be an IP address without zone, got "localhost"/);
  });

  test("a request of the device's kind fills in its answer, or names the system's reason", async () => {
    const libc = await loadLibc();
    const { fd } = udp(libc, "127.0.0.1");
    const request = libc.block(40);
    request.bytes.write("lo");
    const SIOCGIFMTU = 0x8921;
    expect(libc.ioctl(fd, SIOCGIFMTU, request)).toBe(0);
    expect(request.view.getInt32(16, true)).toBe(Number(readFileSync("/sys/class/net/lo/mtu", "utf8")));
    request.bytes.write("none");
    expect(libc.ioctl(fd, SIOCGIFMTU, request)).toBe(-1);
    expect(libc.lastError()).toBe("ENODEV");
    libc.free(request);
  });

  test.runIf(process.getuid?.() === 0)("a packet socket takes the frames of its interface", async () => {
    const libc = await loadLibc();
    const frames = KernelSocket.open(libc, { family: SYS.AF_PACKET, type: SYS.SOCK_RAW, protocol: 0 });
    open.push(frames);
    expect(() => frames.bindInterface("none", SYS.ETH_P_ALL)).toThrow(
      new SystemCallError("bind interface none", "ENODEV"),
    );
    expect(frames.setOption(SYS.SOL_PACKET, SYS.PACKET_IGNORE_OUTGOING, 1)).toBe(true);
    expect(frames.enableTimestamps({ sends: true })).toBe(true);
    frames.bindInterface("lo", SYS.ETH_P_ALL);
    const receiver = udp(libc, "127.0.0.1");
    const sends = new SendBatch(libc, 1, 64);
    const words = `a frame of process ${process.pid}`;
    sends.add(words.length, socketAddress(libc, "127.0.0.1", receiver.localAddress().port)).write(words);
    expect(sends.send(udp(libc, "127.0.0.1").fd)).toBe(1);
    const batch = new ReceiveBatch(libc, 8, 256);
    const poller = new Poller(libc);
    const seen: string[] = [];
    poller.add(frames.fd, READABLE, () => {
      const count = batch.receive(frames.fd);
      for (let slot = 0; slot < count; slot++) seen.push(batch.message(slot).toString("latin1"));
    });
    while (!seen.some((text) => text.endsWith(words))) expect(poller.wait(2000)).toBe(1);
    poller.close();
    batch.free();
    sends.free();
  });

  test.runIf(process.getuid?.() === 0)("a thread gets a real-time priority, the others don't", async () => {
    const program = `
      import { readFileSync } from "node:fs";
      import { parentPort, workerData } from "node:worker_threads";
      const { loadLibc } = await import(workerData);
      const result = (await loadLibc()).setRealtimePriority(5);
      parentPort.postMessage([result, readFileSync("/proc/thread-self/stat", "utf8")]);`;
    const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(program)}`), {
      workerData: new URL("index.ts", import.meta.url).href,
    });
    const [[result, stat]] = (await once(worker, "message")) as [[number, string]];
    // Fields 40 and 41 of proc(5), counted after the name: priority and policy (1 = SCHED_FIFO).
    const policyOf = (text: string): string[] =>
      text
        .slice(text.lastIndexOf(")") + 2)
        .split(" ")
        .slice(37, 39);
    expect(result).toBe(0);
    expect(policyOf(stat)).toEqual(["5", "1"]);
    expect(policyOf(readFileSync("/proc/thread-self/stat", "utf8"))).toEqual(["0", "0"]);
  });

  test("a socket removed by an earlier handler isn't called any more", async () => {
    const libc = await loadLibc();
    const sender = udp(libc, "127.0.0.1");
    const [a, b] = [udp(libc, "127.0.0.1"), udp(libc, "127.0.0.1")];
    const poller = new Poller(libc);
    let calls = 0;
    for (const [self, other] of [
      [a, b],
      [b, a],
    ] as const) {
      poller.add(self.fd, READABLE, () => {
        calls++;
        poller.remove(other.fd);
      });
    }
    const sends = new SendBatch(libc, 2, 8);
    for (const target of [a, b]) sends.add(1, socketAddress(libc, "127.0.0.1", target.localAddress().port));
    expect(sends.send(sender.fd)).toBe(2);
    expect(poller.wait(1000)).toBe(2);
    expect(calls).toBe(1);
    expect(poller.size).toBe(1);
  });
});

describe("addresses", () => {
  test.runIf(isLibcSupported())("text survives the kernel's form, shortened as RFC 5952 says", async () => {
    const libc = await loadLibc();
    const { ipOf, portOf } = await import("./address.ts");
    const pairs = [
      ["10.1.2.255", "10.1.2.255"],
      ["::", "::"],
      ["::1", "::1"],
      ["FE80:0:0:1:0:0:0:1", "fe80:0:0:1::1"],
      ["2001:db8::1:0:0:1", "2001:db8::1:0:0:1"],
      ["::ffff:10.0.0.1", "::ffff:10.0.0.1"],
      ["1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"],
    ];
    for (const [text, expected] of pairs) {
      const { block } = socketAddress(libc, text!, 7411);
      expect(ipOf(block.view, 0)).toBe(expected);
      expect(portOf(block.view, 0)).toBe(7411);
    }
  });
});
