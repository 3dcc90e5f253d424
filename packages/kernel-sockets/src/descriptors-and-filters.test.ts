import { closeSync, fstatSync, writeSync } from "node:fs";
import { afterEach, describe, expect, test } from "vitest";
import { filterProgram } from "./filter.ts";
import {
  BPF,
  DescriptorLedger,
  KernelSocket,
  Poller,
  READABLE,
  ReceiveBatch,
  SYS,
  SendBatch,
  isLibcSupported,
  loadLibc,
  socketAddress,
  trackDescriptors,
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
    "a filter drops over %s what it refuses, and the drops are counted",
    async (ip) => {
      const libc = await loadLibc();
      const receiver = udp(libc, ip);
      const sender = udp(libc, ip);
      const attached = receiver.attachFilter([
        { code: BPF.LOAD_LENGTH, value: 0 },
        { code: BPF.JUMP_IF_EQUAL, ifFalse: 3, value: 14 },
        { code: BPF.LOAD_WORD, value: 8 },
        { code: BPF.JUMP_IF_EQUAL, ifFalse: 1, value: 0x676f6f64 },
        { code: BPF.RETURN, value: 0xffff },
        { code: BPF.RETURN, value: 0 },
      ]);
      expect(attached).toBe(true);
      const to = socketAddress(libc, ip, receiver.localAddress().port);
      const sends = new SendBatch(libc, 8, 16);
      for (const text of ["good-1", "evil-1", "good", "good-22", "good-2"])
        sends.add(text.length, to).write(text);
      expect(sends.send(sender.fd)).toBe(5);
      const batch = new ReceiveBatch(libc, 8, 64);
      const count = batch.receive(receiver.fd);
      expect(Array.from({ length: count }, (_, slot) => batch.message(slot).toString())).toEqual([
        "good-1",
        "good-2",
      ]);
      expect(receiver.drops()).toBe(3);
      batch.free();
      sends.free();
    },
  );

  test.each(["127.0.0.1", "::1"])(
    "sockets that share a port over %s get the packets that a program gives them",
    async (ip) => {
      const libc = await loadLibc();
      const first = udp(libc, ip);
      const { port } = first.localAddress();
      const second = KernelSocket.open(libc, {
        family: ip.includes(":") ? SYS.AF_INET6 : SYS.AF_INET,
        type: SYS.SOCK_DGRAM,
        protocol: 0,
      });
      open.push(second);
      expect(() => second.bind(ip, port)).toThrow(/EADDRINUSE/);
      for (const socket of [first, second])
        expect(socket.setOption(SYS.SOL_SOCKET, SYS.SO_REUSEPORT, 1)).toBe(true);
      second.bind(ip, port);
      const steered = first.attachSteering([
        { code: BPF.LOAD_WORD, value: 4 },
        { code: BPF.JUMP_IF_EQUAL, ifFalse: 1, value: 0x74776f21 },
        { code: BPF.RETURN, value: 1 },
        { code: BPF.RETURN, value: 0 },
      ]);
      expect(steered).toBe(true);
      const sends = new SendBatch(libc, 8, 16);
      const to = socketAddress(libc, ip, port);
      for (const text of ["for one!", "for two!", "too", "for two!"]) sends.add(text.length, to).write(text);
      expect(sends.send(udp(libc, ip).fd)).toBe(4);
      const batch = new ReceiveBatch(libc, 8, 64);
      const textsOf = (socket: KernelSocket): string[] =>
        Array.from({ length: batch.receive(socket.fd) }, (_, slot) => batch.message(slot).toString());
      expect(textsOf(first)).toEqual(["for one!", "too"]);
      expect(textsOf(second)).toEqual(["for two!", "for two!"]);
      batch.free();
      sends.free();
    },
  );

  test("a full receive queue counts as drops too, and the queue is as long as asked for", async () => {
    const libc = await loadLibc();
    const receiver = udp(libc, "127.0.0.1");
    expect(receiver.setReceiveBuffer(16_384)).toBe(32_768);
    const sender = udp(libc, "127.0.0.1");
    const to = socketAddress(libc, "127.0.0.1", receiver.localAddress().port);
    const sends = new SendBatch(libc, 100, 1024);
    for (let i = 0; i < 100; i++) sends.add(1024, to);
    expect(sends.send(sender.fd)).toBe(100);
    const batch = new ReceiveBatch(libc, 128, 1024);
    const received = batch.receive(receiver.fd);
    expect(received).toBeGreaterThan(0);
    expect(received + receiver.drops()).toBe(100);
    batch.free();
    sends.free();
  });

  test("a message that the kernel refuses doesn't take those behind it along", async () => {
    const libc = await loadLibc();
    const receiver = udp(libc, "127.0.0.1");
    const sender = udp(libc, "127.0.0.1");
    const good = socketAddress(libc, "127.0.0.1", receiver.localAddress().port);
    const bad = socketAddress(libc, "127.0.0.1", 0);
    const sends = new SendBatch(libc, 8, 16);
    for (const [i, to] of [bad, good, good, bad, bad, good].entries()) sends.add(1, to).write(String(i));
    const refused: string[] = [];
    expect(sends.sendEach(sender.fd, (error) => refused.push(error))).toBe(3);
    expect(refused).toEqual(["EINVAL", "EINVAL", "EINVAL"]);
    const batch = new ReceiveBatch(libc, 8, 16);
    const count = batch.receive(receiver.fd);
    expect(Array.from({ length: count }, (_, slot) => batch.message(slot).toString())).toEqual([
      "1",
      "2",
      "5",
    ]);
    expect(sends.sendEach(sender.fd, () => expect.unreachable())).toBe(0);
    batch.free();
    sends.free();
  });

  test.each([
    ["127.0.0.1", "00000000000000000000ffff7f000001"],
    ["::1", "00000000000000000000000000000001"],
  ])("a sender's address %s is read as bytes", async (ip, expected) => {
    const libc = await loadLibc();
    const receiver = udp(libc, ip);
    const sends = new SendBatch(libc, 1, 16);
    sends.add(1, socketAddress(libc, ip, receiver.localAddress().port));
    sends.send(udp(libc, ip).fd);
    const batch = new ReceiveBatch(libc, 1, 16);
    expect(batch.receive(receiver.fd)).toBe(1);
    const into = Buffer.alloc(16, 9);
    batch.copySourceIp(0, into);
    expect(into.toString("hex")).toBe(expected);
    batch.free();
    sends.free();
  });

  test("an event counter wakes a poller, from whoever writes to it", async () => {
    const libc = await loadLibc();
    const counter = libc.eventCounter();
    const poller = new Poller(libc);
    const eight = libc.block(8);
    let read = 0;
    poller.add(counter, READABLE, () => {
      read = libc.read(counter, eight, 8);
    });
    expect(poller.wait(0)).toBe(0);
    writeSync(counter, new BigUint64Array([3n]));
    expect(poller.wait(1000)).toBe(1);
    expect([read, eight.view.getBigUint64(0, true)]).toEqual([8, 3n]);
    expect(poller.wait(0)).toBe(0);
    expect(libc.read(counter, eight, 8)).toBe(-1);
    poller.close();
    libc.close(counter);
    libc.free(eight);
  });

  test("what a thread opened and didn't close can be closed by another", async () => {
    const ledger = new DescriptorLedger();
    const libc = trackDescriptors(await loadLibc(), ledger);
    const kept = KernelSocket.open(libc, { family: SYS.AF_INET, type: SYS.SOCK_DGRAM, protocol: 0 });
    kept.bind("127.0.0.1", 0);
    const { port } = kept.localAddress();
    const closed = KernelSocket.open(libc, { family: SYS.AF_INET, type: SYS.SOCK_DGRAM, protocol: 0 });
    closed.close();
    const other = new DescriptorLedger(ledger.buffer);
    const left = other.takeOpen();
    expect(left).toEqual([kept.fd]);
    expect(other.takeOpen()).toEqual([]);
    for (const fd of left) closeSync(fd);
    expect(() => fstatSync(kept.fd)).toThrow(/EBADF/);
    const again = KernelSocket.open(libc, { family: SYS.AF_INET, type: SYS.SOCK_DGRAM, protocol: 0 });
    open.push(again);
    again.bind("127.0.0.1", port);
  });
});

test("programs are written as struct sock_filter", () => {
  expect([...filterProgram([{ code: BPF.JUMP_IF_EQUAL, ifTrue: 1, ifFalse: 2, value: 0x01020304 }])]).toEqual(
    [0x15, 0, 1, 2, 4, 3, 2, 1],
  );
});
