// Compares connection tracking with the pods' own counters, through a Service address.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  ConnectionLab,
  connectionLabSupport,
  PODS,
  PORT,
  SERVICE,
  WORLD,
  runInNamespace,
  type AgentReport,
} from "../harness/connections/lab.ts";

const INTERVAL_MS = 500;
const LOAD_SECONDS = 5;

const web = PODS.web.address;
const cart = PODS.cart.address;
const near = PODS.near.address;
const far = PODS.far.address;
const COMPARED = [
  ["to the pod on its node", `${web} ${near}`, "n1"],
  ["to the pod on the other node, at the client's", `${web} ${far}`, "n1"],
  ["to the pod on the other node, at the server's", `${web} ${far}`, "n2"],
  ["to a named range outside, sent", `${cart} s3-eu sent`, "n1"],
  ["to a named range outside, received", `${cart} s3-eu received`, "n1"],
  ["to the Internet, sent", `${cart} internet sent`, "n1"],
] as const;

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe.skipIf(!connectionLabSupport().supported)("connections between namespaces", () => {
  let lab: ConnectionLab;
  let counted: Map<string, number>;
  let reports: Record<"n1" | "n2", AgentReport>;

  beforeAll(async () => {
    lab = new ConnectionLab();
    await Promise.all([lab.serve("near"), lab.serve("far"), lab.serve("world")]);
    const all = (): Map<string, number> => new Map([...lab.counted(), ...lab.countedOutside("cart")]);
    // Connections from before the agents' start are the baseline.
    const before = lab.traffic("cart", "long", SERVICE, PORT, 2000 + LOAD_SECONDS * 1000);
    const [n1, n2] = await Promise.all([lab.agent("n1", INTERVAL_MS), lab.agent("n2", INTERVAL_MS)]);
    const atStart = all();
    await Promise.all([
      lab.traffic("web", "load", SERVICE, PORT, 200, 200 * LOAD_SECONDS),
      lab.traffic("cart", "load", PODS.far.address, PORT, 20, 20 * LOAD_SECONDS),
      lab.traffic("cart", "load", WORLD["s3-eu"], PORT, 40, 40 * LOAD_SECONDS),
      lab.traffic("cart", "long", WORLD.internet, PORT, LOAD_SECONDS * 1000),
      lab.traffic("web", "long", SERVICE, PORT, LOAD_SECONDS * 1000),
      before,
    ]);
    counted = new Map([...all()].map(([key, bytes]) => [key, bytes - (atStart.get(key) ?? 0)]));
    reports = { n1: n1.report, n2: n2.report };
    // The last bytes arrive in the round after the last connection.
    const isWhole = (): boolean => COMPARED.every(([, pair, node]) => deviation(pair, node) < 0.01);
    for (let waits = 0; waits < 40 && !isWhole(); waits++) await sleep(INTERVAL_MS);
    await Promise.all([n1.stop(), n2.stop()]);
  }, 60_000);
  afterAll(() => lab.remove());

  const deviation = (pair: string, node: "n1" | "n2"): number =>
    Math.abs((reports[node].pairs.get(pair) ?? 0) / counted.get(pair)! - 1);

  test.each(COMPARED)("are counted whole, and as the pod behind the Service: %s", (_, pair, node) => {
    expect(counted.get(pair)).toBeGreaterThan(1e6);
    expect(deviation(pair, node)).toBeLessThan(0.01);
  });

  test("no pair is missed, and none is there that exchanged nothing", () => {
    const pairs = [...reports.n1.pairs].filter(([, bytes]) => bytes > 0).map(([pair]) => pair);
    const exchanged = [...counted].filter(([, bytes]) => bytes > 0).map(([pair]) => pair);
    expect(pairs.toSorted()).toEqual(exchanged.toSorted());
    expect(pairs.join(" ")).not.toContain(SERVICE);
    for (const address of Object.values(WORLD)) expect(pairs.join(" ")).not.toContain(address);
  });

  test("nothing was lost on the way, and both agents say so", () => {
    for (const { metrics } of Object.values(reports)) {
      expect(metrics).toContain('isochrone_collector_connections_state{state="ok"} 1');
      expect(metrics).toContain("isochrone_collector_connections_overflows_total 0");
    }
  });

  test("connections that come and go between two dumps are counted by their ends, each once", async () => {
    lab.forgetSoon("n1");
    // Connections from before the agent's start don't count as its traffic, whether closed or not.
    await lab.traffic("web", "load", near, PORT, 400, 100);
    const before = lab.counted().get(`${web} ${near}`)!;
    const agent = await lab.agent("n1", 6 * INTERVAL_MS);
    await lab.traffic("web", "load", near, PORT, 400, 400);
    const exchanged = lab.counted().get(`${web} ${near}`)! - before;
    expect(exchanged).toBeGreaterThan(1e5);
    await expect
      .poll(() => (agent.report.pairs.get(`${web} ${near}`) ?? 0) / exchanged, { timeout: 40_000 })
      .toBeGreaterThan(0.99);
    await agent.stop();
    expect(agent.report.pairs.get(`${web} ${near}`)! / exchanged).toBeCloseTo(1, 2);
    expect(agent.report.metrics).toContain('isochrone_collector_connections_state{state="ok"} 1');
  }, 60_000);

  test("ends that the kernel drops are counted, one by one, and the state says so", () => {
    const connections = 3000;
    const said: { overflows: number; bytes: number; state: string } = JSON.parse(
      runInNamespace("ends-process.ts", connections, 256 * 1024),
    );
    // A packet has 29 bytes.
    const heard = (bytes: number): number => bytes / 29;
    const { overflows, bytes, state } = said;
    expect(state).toBe("overflowed");
    expect(overflows).toBeGreaterThan(100);
    expect(heard(bytes)).toBeGreaterThan(100);
    expect(heard(bytes) + overflows).toBe(connections);
  });

  test("a node's card is the lowest interface below its route: no overlay, no bridge, no pod's cable", () => {
    expect(JSON.parse(runInNamespace("cards-process.ts"))).toEqual(["outer"]);
  });

  test("a node that doesn't count bytes is told from one without traffic", async () => {
    lab.setAccounting("n2", "0");
    const agent = await lab.agent("n2", INTERVAL_MS);
    await lab.traffic("cart", "load", far, PORT, 50, 50);
    await agent.stop();
    expect(agent.report.metrics).toContain('isochrone_collector_connections_state{state="accounting_off"} 1');
    lab.setAccounting("n2", "1");
  }, 30_000);

  test("a table without room is reported", async () => {
    const agent = await lab.agent("n1", INTERVAL_MS);
    const entries = lab.tracked("n1");
    expect(entries).toBeGreaterThan(1000);
    const before = lab.drops("n1");
    // Clients without room in the table retry for long. They end with the lab.
    void lab.traffic("web", "load", far, PORT, 50, 1000).catch(() => undefined);
    const restore = lab.limitTables(Math.floor(entries / 2));
    try {
      while (lab.drops("n1") === before) await sleep(50);
    } finally {
      restore();
    }
    await sleep(INTERVAL_MS * 3);
    await agent.stop();
    expect(agent.report.metrics).toContain('isochrone_collector_connections_state{state="table_full"} 1');
  }, 60_000);
});
