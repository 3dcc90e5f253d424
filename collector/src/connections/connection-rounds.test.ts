import { readOutside, type Outside } from "@isochrone/telemetry/outside";
import { beforeEach, describe, expect, test } from "vitest";
import { ConnectionRounds, type RoundResult } from "./connection-rounds.ts";
import { MESSAGE, NetlinkReader, type Connection, type NetlinkVisitor } from "./netlink.ts";
import { connectionMessage, cpuMessage, type TestConnection } from "./testing/messages.ts";

const NOW = 1_700_000_000_000;
const PAIR = "10.0.1.7 10.0.2.9";

class Kernel {
  table: TestConnection[] = [];
  ended: TestConnection[] = [];
  duringDump: (() => void) | null = null;
  overflows = 0;
  drops: [number, number, number] = [0, 0, 0];
  interfaceBytes: number | null = null;
  accounting: string | null = "1\n";
  events: string | null = "2\n";
  readonly #reader = new NetlinkReader();

  async ask(message: number, visitor: Omit<NetlinkVisitor, "done">): Promise<void> {
    const dump =
      message === MESSAGE.get
        ? Buffer.concat(this.table.map((connection) => connectionMessage(connection)))
        : Buffer.concat([cpuMessage(...this.drops), cpuMessage(0, 0, 0)]);
    if (message === MESSAGE.get) {
      this.duringDump?.();
      this.duringDump = null;
    }
    this.#reader.read(dump, { ...visitor, done: () => undefined });
  }

  ends(onEnd: (connection: Connection) => void): number {
    const events = Buffer.concat(this.ended.map((connection) => connectionMessage(connection, true)));
    this.ended = [];
    this.#reader.read(events, { connection: onEnd, done: () => undefined });
    const { overflows } = this;
    this.overflows = 0;
    return overflows;
  }

  end(id: number, bytes: number): void {
    const gone = this.table.find((connection) => connection.id === id) ?? { id };
    this.table = this.table.filter((connection) => connection !== gone);
    this.ended.push({ ...gone, bytes });
  }
}

let kernel: Kernel;
let rounds: ConnectionRounds;
let atMs: number;
let told: Map<string, number>;

const roundsOf = (outside: Outside | null = null): ConnectionRounds =>
  new ConnectionRounds(
    kernel,
    {
      interfaces: async () =>
        kernel.interfaceBytes === null
          ? "Inter-| Receive\n face |bytes\n    lo: 99999999 1 0 0 0 0 0 0 99999999 1 0 0 0 0 0 0\n  cali1: 1 1 0 0 0 0 0 0 9 1\n"
          : `  eth0: ${kernel.interfaceBytes} 1 0 0 0 0 0 0 0 1 0 0 0 0 0 0\n`,
      accounting: async () => kernel.accounting,
      events: async () => kernel.events,
    },
    outside,
  );

beforeEach(() => {
  kernel = new Kernel();
  atMs = NOW;
  told = new Map();
  rounds = roundsOf();
});

async function round(): Promise<RoundResult> {
  const result = await rounds.round((atMs += 10_000));
  for (const metric of result.metrics)
    for (const { attributes, value } of metric.kind === "sum" ? metric.points : []) {
      const key = Object.values(attributes).join(" ");
      told.set(key, (told.get(key) ?? 0) + value);
    }
  return result;
}

describe("bytes of connections", () => {
  test("are what was added since the dump before; what was there at first is a baseline", async () => {
    kernel.table = [{ id: 1, bytes: 1_000_000 }];
    expect(await round()).toMatchObject({ metrics: [], bytes: 0 });
    kernel.table = [
      { id: 1, bytes: 1_000_500 },
      { id: 2, bytes: 300, clientPort: 40_001 },
    ];
    const [metric] = (await round()).metrics;
    expect(metric).toMatchObject({
      kind: "sum",
      temporality: "delta",
      points: [{ startMs: NOW + 10_000, timeMs: NOW + 20_000, value: 800 }],
    });
    expect(told).toEqual(new Map([[PAIR, 800]]));
  });

  test("of one that began and ended between two dumps come with its end", async () => {
    await round();
    kernel.end(5, 700);
    await round();
    expect(told.get(PAIR)).toBe(700);
  });

  test("of one that ends are counted to its end, and once, though a dump under way still has it", async () => {
    await round();
    kernel.table = [{ id: 1, bytes: 100 }];
    await round();
    // The event is read before the rest of an earlier dump.
    kernel.duringDump = () => {
      kernel.end(1, 150);
      rounds.takeEnds();
    };
    await round();
    await round();
    expect(told.get(PAIR)).toBe(150);
  });

  test("of the next one with the same ends begin anew", async () => {
    await round();
    kernel.table = [{ id: 1, bytes: 1000 }];
    await round();
    kernel.end(1, 1000);
    kernel.table = [{ id: 2, bytes: 400 }];
    await round();
    expect(told.get(PAIR)).toBe(1400);
  });

  test("of two at once with the same ends, one translated to another port, count each for itself", async () => {
    kernel.table = [{ id: 1, bytes: 1_000_000, service: "10.96.0.10" }];
    await round();
    kernel.end(2, 300);
    await round();
    for (const bytes of [1_000_000, 1_000_007]) {
      kernel.table = [
        { id: 3, bytes: 50 },
        { id: 1, bytes, service: "10.96.0.10" },
      ];
      if (bytes === 1_000_000) kernel.table.reverse();
      await round();
    }
    kernel.end(3, 60);
    kernel.end(1, 1_000_010);
    expect((await round()).lostEnds).toBe(0);
    expect(told.get(PAIR)).toBe(300 + 60 + 10);
  });

  test("of the next one that even has the id of the one before begin anew", async () => {
    await round();
    kernel.end(1, 1000);
    kernel.end(1, 500);
    await round();
    kernel.table = [{ id: 1, bytes: 40 }];
    await round();
    kernel.end(1, 70);
    await round();
    expect(told.get(PAIR)).toBe(1570);
  });

  test("of one that had expired before the first dump, which removes it, are part of the baseline", async () => {
    kernel.duringDump = () => kernel.end(1, 5000);
    expect((await round()).bytes).toBe(0);
    await round();
    expect(told).toEqual(new Map());
  });

  test("count on through a dump that missed it; one that stays away without its end is told of", async () => {
    await round();
    kernel.table = [{ id: 1, bytes: 1000 }];
    await round();
    kernel.table = [];
    expect((await round()).lostEnds).toBe(0);
    kernel.table = [{ id: 1, bytes: 1200 }];
    await round();
    expect(told.get(PAIR)).toBe(1200);
    kernel.table = [];
    await round();
    expect((await round()).lostEnds).toBe(1);
  });

  test("of a connection that is tracked in two zones count once", async () => {
    await round();
    for (const bytes of [100, 250, 400]) {
      kernel.table = [
        { id: 1, bytes, zone: 0, service: "10.96.0.10" },
        { id: 2, bytes, zone: 7 },
      ];
      if (bytes === 250) kernel.table.reverse();
      await round();
    }
    kernel.end(1, 500);
    kernel.end(2, 500);
    expect((await round()).duplicates).toBe(1);
    expect(told.get(PAIR)).toBe(500);
  });

  test("of tunnels are those of pods once more, and are left out; so are hosts' own", async () => {
    await round();
    kernel.table = [
      { id: 1, bytes: 1000, protocol: 17, serverPort: 8472 },
      { id: 2, bytes: 1000, client: "127.0.0.1", server: "127.0.0.1" },
    ];
    expect(await round()).toMatchObject({ metrics: [], bytes: 1000 });
  });

  test("fall to 0 when a pair goes silent, and are not told of for ever", async () => {
    await round();
    kernel.table = [{ id: 1, bytes: 100 }];
    await round();
    const [metric] = (await round()).metrics;
    expect(metric).toMatchObject({ points: [{ value: 0 }] });
    for (let i = 0; i < 30; i++) await round();
    expect((await round()).metrics).toEqual([]);
  });

  test("of more pairs than a round may tell of are counted as left out, the smallest first", async () => {
    await round();
    kernel.table = Array.from({ length: 20_010 }, (_, index) => ({
      id: index + 1,
      bytes: index < 10 ? 2 : 100,
      client: `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`,
    }));
    const { metrics, leftOutBytes } = await round();
    expect([metrics[0]?.points.length, leftOutBytes]).toEqual([20_000, 20]);
  });
});

describe("bytes to the outside of the cluster", () => {
  const outside = readOutside({
    cluster: ["10.0.0.0/8", "2600:1f00::/40"],
    names: [
      { name: "s3-eu", cidrs: ["52.218.0.0/17"] },
      { name: "office", cidrs: ["192.168.7.0/24"] },
    ],
  });

  test("go by the name of a range, each direction for itself, whoever opened the connection", async () => {
    rounds = roundsOf(outside);
    await round();
    kernel.table = [
      { id: 1, bytes: 1000, answerBytes: 900, server: "52.218.3.4" },
      { id: 2, bytes: 1000, answerBytes: 800, server: "52.218.99.1", clientPort: 40_001 },
      { id: 3, bytes: 500, answerBytes: 400, client: "192.168.7.9", server: "10.0.1.7" },
      { id: 4, bytes: 70, answerBytes: 0, server: "8.8.8.8" },
      { id: 5, bytes: 30, answerBytes: 10, server: "172.20.0.1" },
      { id: 6, bytes: 60, answerBytes: 20 },
    ];
    await round();
    expect(Object.fromEntries(told)).toEqual({
      "10.0.1.7 s3-eu sent": 300,
      "10.0.1.7 s3-eu received": 1700,
      "10.0.1.7 office sent": 400,
      "10.0.1.7 office received": 100,
      "10.0.1.7 internet sent": 70,
      "10.0.1.7 private sent": 20,
      "10.0.1.7 private received": 10,
      [PAIR]: 60,
    });
  });

  test("make no series per address, and what is forwarded between two ends outside makes none", async () => {
    rounds = roundsOf(outside);
    await round();
    kernel.table = [
      ...Array.from({ length: 5000 }, (_, index) => ({
        id: index + 1,
        bytes: 100,
        answerBytes: 60,
        server: `44.${index >> 8}.${index & 255}.9`,
      })),
      { id: 9000, bytes: 1000, client: "1.1.1.1", server: "8.8.8.8" },
    ];
    const { metrics } = await round();
    expect(metrics.map(({ points }) => points.length)).toEqual([2]);
    expect(Object.fromEntries(told)).toEqual({
      "10.0.1.7 internet sent": 200_000,
      "10.0.1.7 internet received": 300_000,
    });
  });
});

describe("the state of connection tracking", () => {
  test("is ok, with traffic or without", async () => {
    await round();
    expect((await round()).state).toBe("ok");
  });

  test.each([
    ["the kernel says so", "0\n", 100],
    ["it doesn't say, and no entry has counters", null, null],
  ])("is accounting_off where %s", async (_, accounting, bytes) => {
    kernel.accounting = accounting;
    kernel.table = [{ id: 1, bytes }];
    const { state, uncounted } = await round();
    expect([state, uncounted]).toEqual(["accounting_off", bytes === null ? 1 : 0]);
  });

  const lose = async (count: number): Promise<RoundResult> => {
    kernel.table = Array.from({ length: count }, (_, id) => ({
      id: id + 1,
      bytes: 9,
      clientPort: 2000 + id,
    }));
    await round();
    kernel.table = [];
    await round();
    return round();
  };

  test.each([
    ["the kernel is set to report none", "ends_unreported", "0\n", 0, 0],
    ["most of them are missing", "ok", "1\n", 10, 9],
    ["most of them are missing, and nothing is known of the setting", "ok", null, 20, 0],
  ])("is ends_unreported where %s", async (_, atFirst, events, lost, heard) => {
    expect((await round()).state).toBe("ok");
    kernel.events = events;
    expect((await round()).state).toBe(atFirst);
    for (let id = 100; id < 100 + heard; id++) kernel.end(id, 5);
    const { state, lostEnds } = await lose(lost);
    expect([state, lostEnds]).toEqual(["ends_unreported", lost]);
  });

  test("stays ok where few ends are missing, and where old connections end, of which the kernel says nothing", async () => {
    kernel.table = Array.from({ length: 50 }, (_, id) => ({ id: id + 100, bytes: 9, clientPort: 9000 + id }));
    await round();
    const { state, lostEnds } = await lose(9);
    expect([state, lostEnds]).toEqual(["ok", 9]);
  });

  test("is bypassed where interfaces carry what isn't tracked, for three rounds", async () => {
    const states: string[] = [];
    for (let i = 0; i < 5; i++) {
      kernel.interfaceBytes = i * 20e6;
      kernel.table = [{ id: 1, bytes: i * 1e6 }];
      states.push((await round()).state);
    }
    expect(states).toEqual(["ok", "ok", "ok", "bypassed", "bypassed"]);
    kernel.interfaceBytes = 100e6;
    kernel.table = [{ id: 1, bytes: 25e6 }];
    expect((await round()).state).toBe("ok");
  });

  test.each([
    ["table_full", (): void => void (kernel.drops = [3, 0, 0])],
    ["table_full", (): void => void (kernel.drops = [0, 1, 0])],
    ["overflowed", (): void => void (kernel.overflows = 1)],
  ] as const)("is %s for five minutes after something was lost", async (state, lose) => {
    await round();
    lose();
    expect((await round()).state).toBe(state);
    for (let i = 0; i < 29; i++) expect((await round()).state).toBe(state);
    expect((await round()).state).toBe("ok");
  });
});

test.each([1_000, -1_000, 7_200_000, -7_200_000, -315_360_000_000])(
  "a wall clock that is set by %i ms leaves a round as long as it was",
  async (stepMs) => {
    await rounds.round(atMs, 5_000);
    kernel.table = [{ id: 1, bytes: 800 }];
    const { metrics } = await rounds.round(atMs + 10_000 + stepMs, 15_000);
    const points = metrics.flatMap((metric) => (metric.kind === "sum" ? metric.points : []));
    expect(points.length).toBeGreaterThan(0);
    for (const { startMs, timeMs } of points)
      expect([startMs, timeMs]).toEqual([atMs + stepMs, atMs + 10_000 + stepMs]);
  },
);
