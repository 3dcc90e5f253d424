import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { SYS, isLibcSupported, loadLibc, socketAddress, type Libc } from "@isochrone/kernel-sockets";
import { afterEach, describe, expect, test } from "vitest";
import type { EchoHandlers, ReceivedEcho } from "./echo-port.ts";
import { EchoSocket, hopsOf } from "./echo-socket.ts";
import { KernelEchoes } from "./kernel-echoes.ts";

/** Null if neither ping_group_range nor CAP_NET_RAW permits echoes. */
const libc = await libcThatCanPing();

async function libcThatCanPing(): Promise<Libc | null> {
  if (!isLibcSupported()) return null;
  const loaded = await loadLibc();
  try {
    new EchoSocket(loaded, { family: 4, dscp: 0, id: 1, nonce: 1n }).close();
    return loaded;
  } catch {
    return null;
  }
}

function canUnshare(): boolean {
  try {
    execFileSync("unshare", ["--net", "ip", "link", "show", "lo"], { stdio: "ignore", timeout: 5000 });
    return true;
  } catch {
    return false;
  }
}

class Notes implements EchoHandlers {
  readonly accepted: number[] = [];
  readonly departed = new Map<number, number>();
  readonly refused = new Map<number, string>();
  readonly replies = new Map<number, ReceivedEcho>();
  clockSteps = 0;
  onAccepted(number: number): void {
    this.accepted.push(number);
  }
  onDeparted(number: number, departedNs: number): void {
    this.departed.set(number, departedNs);
  }
  onRefused(number: number, error: string): void {
    this.refused.set(number, error);
  }
  onReply(number: number, reply: ReceivedEcho): void {
    this.replies.set(number, reply);
  }
  onCorrupt(): void {}
  onUnreachable(): void {}
  onClockStep(): void {
    this.clockSteps++;
  }
}

describe.skipIf(libc === null)("echoes by the kernel's sockets", () => {
  const open: KernelEchoes[] = [];
  afterEach(() => {
    for (const echoes of open.splice(0)) echoes.close();
  });

  function echoesOf(values: Partial<Libc> = {}): { echoes: KernelEchoes; notes: Notes } {
    const echoes = new KernelEchoes({ ...(libc as Libc), ...values }, { id: 321, nonce: 0x1234_5678_9abcn });
    open.push(echoes);
    const notes = new Notes();
    echoes.drain(notes);
    return { echoes, notes };
  }

  function readUntil(echoes: KernelEchoes, notes: Notes, done: () => boolean): void {
    for (let tries = 0; tries < 200 && !done(); tries++) {
      echoes.drain(notes);
      echoes.wait(10);
    }
  }

  test.each([
    { address: "127.0.0.1", family: 4 as const },
    { address: "::1", family: 6 as const },
  ])("both ends of every echo to $address are stamped by the kernel", ({ address, family }) => {
    const { echoes, notes } = echoesOf();
    for (const [batch, payloadBytes] of [16, 56, 1400].entries()) {
      const route = echoes.open({ address, family, dscp: 0, payloadBytes });
      const numbers = Array.from({ length: 150 }, (_, i) => batch * 0x1_0000 + i);
      for (const number of numbers) route.queue(number);
      echoes.flush(notes);
      readUntil(echoes, notes, () => numbers.every((number) => notes.replies.has(number)));
      for (const number of numbers) {
        const reply = notes.replies.get(number);
        expect(reply).toMatchObject({ source: address, hops: 0, payloadBytes });
        const rttNs = (reply?.receivedNs ?? Number.NaN) - (notes.departed.get(number) ?? Number.NaN);
        expect(rttNs).toBeGreaterThan(0);
        expect(rttNs).toBeLessThan(1e9);
      }
      route.close();
    }
    expect(notes.refused.size).toBe(0);
  });

  test("a refused packet is named, the others of its batch go out, and their stamps stay theirs", () => {
    const { echoes, notes } = echoesOf();
    const to = (address: string): ReturnType<KernelEchoes["open"]> =>
      echoes.open({ address, family: 4, dscp: 0, payloadBytes: 56 });
    const [good, bad] = [to("127.0.0.1"), to("255.255.255.255")];
    for (let number = 0; number < 40; number++) (number % 4 === 1 ? bad : good).queue(number);
    echoes.flush(notes);
    readUntil(echoes, notes, () => notes.replies.size === 30);
    expect([...notes.refused.keys()]).toEqual([1, 5, 9, 13, 17, 21, 25, 29, 33, 37]);
    expect(new Set(notes.refused.values())).toEqual(new Set(["EACCES"]));
    expect(notes.accepted).toHaveLength(30);
    for (const [number, { receivedNs }] of notes.replies) {
      expect(receivedNs - (notes.departed.get(number) ?? Number.NaN)).toBeGreaterThan(0);
    }
    expect([...notes.departed.keys()].every((number) => number % 4 !== 1)).toBe(true);
  });

  test("each code point has a socket of its own, and no reply counts twice", () => {
    const { echoes, notes } = echoesOf();
    let replies = 0;
    const counting = Object.assign(notes, { onReply: () => void replies++ });
    for (const [i, dscp] of [0, 46, 8].entries()) {
      const route = echoes.open({ address: "127.0.0.1", family: 4, dscp, payloadBytes: 56 });
      for (let number = 0; number < 10; number++) route.queue(i * 10 + number);
    }
    echoes.flush(counting);
    readUntil(echoes, counting, () => replies >= 30);
    echoes.wait(50);
    echoes.drain(counting);
    expect(replies).toBe(30);
  });

  test("a family without a socket refuses its packets, and the other goes on", () => {
    const real = libc as Libc;
    const { echoes, notes } = echoesOf({
      socket: (family, type, protocol) =>
        family === SYS.AF_INET6 ? real.socket(-1, type, protocol) : real.socket(family, type, protocol),
    });
    expect(echoes.description).toMatch(/^IPv4 (raw|datagram), no ICMPv6 socket: datagram EAFNOSUPPORT/);
    echoes.open({ address: "::1", family: 6, dscp: 0, payloadBytes: 56 }).queue(1);
    echoes.open({ address: "127.0.0.1", family: 4, dscp: 0, payloadBytes: 56 }).queue(2);
    echoes.flush(notes);
    readUntil(echoes, notes, () => notes.replies.size === 1);
    expect([...notes.refused]).toEqual([[1, "EAFNOSUPPORT"]]);
    expect([...notes.replies.keys()]).toEqual([2]);
  });

  test("without any socket the reason says what each kind would need", () => {
    const real = libc as Libc;
    const refusing = { socket: () => real.socket(-1, 0, 0) };
    expect(() => echoesOf(refusing)).toThrow(
      /no ICMPv4 socket: datagram EAFNOSUPPORT \(needs net.ipv4.ping_group_range\), raw EAFNOSUPPORT \(needs CAP_NET_RAW\)/,
    );
  });

  test("raw is the fallback, and can be the only one asked for", () => {
    const real = libc as Libc;
    const asked: number[] = [];
    const refuseDatagrams: Libc["socket"] = (family, type, protocol) => {
      asked.push(type & 15);
      return (type & 15) === SYS.SOCK_DGRAM ? real.socket(-1, 0, 0) : real.socket(family, type, protocol);
    };
    const { echoes } = echoesOf({ socket: refuseDatagrams });
    expect(echoes.description).toBe("IPv4 raw, IPv6 raw");
    expect(asked.slice(0, 2)).toEqual([SYS.SOCK_DGRAM, SYS.SOCK_RAW]);
  });

  test.each([
    { address: "127.0.0.1", family: 4 as const },
    { address: "::1", family: 6 as const },
  ])("the kernel keeps replies to others from a raw socket: $address", ({ address, family }) => {
    const real = libc as Libc;
    let messages = 0;
    const counting: Libc = {
      ...real,
      receiveMessages: (...args) => {
        const count = real.receiveMessages(...args);
        messages += Math.max(0, count);
        return count;
      },
    };
    const asker = new EchoSocket(real, { family, dscp: 0, id: 7001, nonce: 1n, modes: ["raw"] });
    const other = new EchoSocket(counting, { family, dscp: 0, id: 7002, nonce: 1n, modes: ["raw"] });
    const to = socketAddress(real, address, 0);
    const notes = new Notes();
    const send = (socket: EchoSocket, number: number): void => {
      socket.queue(number, to, 56, notes);
      socket.flush(notes);
      socket.drain(notes);
    };
    send(asker, 1);
    send(other, 2);
    expect([...notes.replies.keys()]).toEqual([1, 2]);
    expect(messages).toBe(2);
    for (const socket of [asker, other]) socket.close();
    real.free(to.block);
  });

  test("a step of the wall clock by an hour is noticed once, either way", () => {
    const real = libc as Libc;
    let stepNs = 0;
    const { echoes, notes } = echoesOf({
      clock: (id) => real.clock(id) + (id === SYS.CLOCK_REALTIME ? stepNs : 0),
    });
    const route = echoes.open({ address: "127.0.0.1", family: 4, dscp: 0, payloadBytes: 56 });
    const round = (number: number): void => {
      route.queue(number);
      echoes.flush(notes);
      echoes.drain(notes);
    };
    const before = notes.clockSteps;
    for (const [i, hours] of [1, 0, -1].entries()) {
      stepNs = hours * 3600e9;
      round(2 * i);
      round(2 * i + 1);
      expect(notes.clockSteps - before).toBeGreaterThanOrEqual(i + 1);
    }
  });

  test.skipIf(!canUnshare())(
    "two probers with the same id and a dead target: 0 false replies in 10,000",
    () => {
      const script = fileURLToPath(new URL("./testing/same-id.ts", import.meta.url));
      const run = (...args: string[]): Record<"asker" | "other", Record<string, number>> => {
        const output = execFileSync("unshare", ["--net", process.execPath, script, ...args], {
          timeout: 60_000,
        });
        return JSON.parse(output.toString()) as ReturnType<typeof run>;
      };
      const { asker, other } = run();
      expect(asker).toMatchObject({ accepted: 10_000, replies: 0, fromElsewhere: 0, corrupt: 0 });
      expect(other).toMatchObject({ accepted: 10_000, replies: 10_000, fromElsewhere: 0, corrupt: 0 });
      // The same with equal nonces: then only the source distinguishes them, as in the schedule.
      const careless = run("same-nonce");
      expect(careless.asker).toMatchObject({ replies: 0, fromElsewhere: 10_000 });
    },
  );
});

describe("hops", () => {
  test.each([
    [64, 0],
    [63, 1],
    [128, 0],
    [120, 8],
    [255, 0],
    [250, 5],
    [1, 63],
    [-1, -1],
  ])("a packet with %i left has passed %i routers", (remaining, hops) => {
    expect(hopsOf(remaining)).toBe(hops);
  });
});
