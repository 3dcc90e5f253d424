// Compares the promised saving with the proxies' counters, after running the printed commands.
import { Embedded } from "@isochrone/cli/embedded";
import { createProgram } from "@isochrone/cli/testing";
import { KINDS } from "@isochrone/kubernetes";
import { looseList } from "@isochrone/primitives";
import { createLogger } from "@isochrone/runtime";
import type { Bill, Savings, SavingsLine, SavingsOption } from "@isochrone/topology";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../harness/embedded.ts";
import { kubectl } from "../harness/kubectl.ts";
import { pairBytes, type PairBytes } from "../harness/pair-bytes.ts";

const DATA = join(import.meta.dirname, "../data/savings");
const WINDOW_MS = 15_000;
const WITHIN_MS = 200_000;
/** Minimum requests of front per count. Endpoints take turns, so chance has no effect. */
const REQUESTS = 300;
/** Time until routes follow a change. */
const SETTLED = 60;
const PODS = 6;
const MONTH_SECONDS = 730 * 3600;

/** USD per byte, as in the price file. */
function priceOf(from: string, to: string): number {
  if (from === to) return 0;
  return (from.split("-")[0] === to.split("-")[0] ? 1 : 2) / 1e9;
}

describe("savings of the embedded cluster", () => {
  const ending = new AbortController();
  let embedded: Embedded;
  let promise: SavingsLine;
  /** Money per byte of the workflow's traffic, as promised and as counted. */
  let promised: number;
  let counted: number;

  beforeAll(async () => {
    const logger = createLogger({
      service: "test",
      level: "error",
      format: "text",
      destination: process.stderr,
    });
    embedded = await Embedded.start(
      {
        port: 0,
        nodes: 4,
        manifest: join(DATA, "shop.yaml"),
        prices: join(DATA, "prices.yaml"),
        requestsPerSecond: 20,
        windowMs: WINDOW_MS,
        seed: 1,
        placement: "spread",
        slices: true,
        allowedHosts: [],
        logger,
        // Only the commands move pods.
        env: { ISOCHRONE_DESCHEDULER_MODE: "off" },
      },
      ending.signal,
    );
  }, WITHIN_MS);
  afterAll(async () => {
    ending.abort();
    await embedded?.stop();
  }, 60_000);

  const read = async <T>(path: string): Promise<T> => {
    const response = await fetch(`${embedded.urls.page}${path}`);
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
    return (await response.json()) as T;
  };

  /** Returns bytes after that many more requests. */
  async function bytesAfter(requests: number): Promise<PairBytes> {
    return eventually("requests are counted", WITHIN_MS, async () => {
      const now = await pairBytes(embedded.cluster, zoneOf);
      return now.requests >= requests ? now : null;
    });
  }

  async function countedPerByte(): Promise<number> {
    const { requests } = await pairBytes(embedded.cluster, zoneOf);
    const before = await bytesAfter(requests + SETTLED);
    const after = await bytesAfter(before.requests + REQUESTS);
    let [bytes, money] = [0, 0];
    for (const [pair, sum] of after.bytes) {
      const exchanged = sum - (before.bytes.get(pair) ?? 0);
      const [from, to] = pair.split(" ") as [string, string];
      bytes += exchanged;
      money += exchanged * priceOf(from, to);
    }
    return money / bytes;
  }

  const zones: Readonly<Record<string, string>> = {
    "west-a-1": "west-a",
    "west-a-2": "west-a",
    "west-b-1": "west-b",
    "east-a-1": "east-a",
  };
  const zoneOf = (node: string | null): string => zones[node ?? ""] ?? "";

  async function entered(command: string): Promise<void> {
    const [name, ...words] = command.split(" ");
    if (name !== "isochrone") return kubectl(embedded.store, command);
    const args = [...words, "--yes", "--server", embedded.urls.page, "--lab", embedded.urls.lab];
    const { KUBECONFIG } = process.env;
    delete process.env["KUBECONFIG"];
    try {
      await createProgram(() => undefined).parseAsync(args, { from: "user" });
    } finally {
      if (KUBECONFIG !== undefined) process.env["KUBECONFIG"] = KUBECONFIG;
    }
  }

  async function carriedOut({ commands, moves }: SavingsOption): Promise<void> {
    for (const command of commands) await entered(command);
    await eventually("pods are where they were to be", WITHIN_MS, async () => {
      const pods = embedded.cluster.pods().filter(({ deleting, ready }) => ready && !deleting);
      const isThere = ({ name, workload, to }: SavingsOption["moves"][number]): boolean =>
        pods.some((pod) => pod.workload === workload && zoneOf(pod.node) === zoneOf(to)) &&
        pods.every((pod) => pod.name !== name);
      return pods.length === PODS && moves.every(isThere);
    });
  }

  async function sliced(isNear: boolean): Promise<void> {
    await eventually(`api has two endpoints, ${isNear ? "with" : "without"} hints`, WITHIN_MS, async () => {
      const slice = await embedded.store.get({ ...KINDS.endpointSlice, namespace: "default", name: "api-1" });
      const endpoints = looseList<{ hints: object }>(slice?.["endpoints"]);
      return endpoints.length === 2 && endpoints.every(({ hints }) => (hints !== undefined) === isNear);
    });
  }

  /** Moves within a zone do not change the bill. */
  const crossing = (option: SavingsOption | undefined): string[] =>
    (option?.moves ?? [])
      .filter(({ from, to }) => zoneOf(from) !== zoneOf(to))
      .map(({ workload, to }) => `${workload} ${zoneOf(to)}`);

  function expectKept(option: SavingsOption, after: number): void {
    const share = option.savedPerMonth! / promise.perMonth!;
    expect((promised * share) / (counted - after)).toBeGreaterThan(0.95);
    expect((promised * share) / (counted - after)).toBeLessThan(1.05);
  }

  it(
    "are promised: to keep traffic in its zone, to move pods, and more by both",
    async () => {
      await embedded.cluster.waitReady(WITHIN_MS);
      await embedded.startMoving();
      await sliced(false);
      counted = await countedPerByte();
      promise = await eventually("the bill is what was counted, and pods would move", WITHIN_MS, async () => {
        const { lines } = await read<Savings>("/api/v1/savings?namespace=default");
        const line = lines.find(({ kind }) => kind === "workflow");
        const { total } = await read<Bill>("/api/v1/graph/bill");
        promised = total.perMonth! / total.bytesPerSecond! / MONTH_SECONDS;
        const isWhole = Math.abs(promised / counted - 1) < 0.01 && crossing(line?.both).length === 2;
        if (line === undefined || !isWhole) throw new Error(JSON.stringify([line, promised, counted]));
        return line;
      });
      expect(promise.routing).toMatchObject({ isAdvised: true, services: ["default/api"] });
      expect(crossing(promise.moves)).toEqual(crossing(promise.both));
      expect(promise.both.savedPerMonth!).toBeGreaterThan(promise.routing.savedPerMonth!);
      expect(promise.both.savedPerMonth!).toBeGreaterThan(promise.moves.savedPerMonth!);
    },
    2 * WITHIN_MS,
  );

  it(
    "come when traffic stays in its zone",
    async () => {
      await carriedOut(promise.routing);
      await sliced(true);
      const after = await countedPerByte();
      expectKept(promise.routing, after);
      await kubectl(
        embedded.store,
        `kubectl -n default patch service api --type merge -p '{"spec":{"trafficDistribution":null}}'`,
      );
    },
    WITHIN_MS,
  );

  it(
    "come when pods move",
    async () => {
      await carriedOut(promise.moves);
      await sliced(false);
      const after = await countedPerByte();
      expectKept(promise.moves, after);
    },
    WITHIN_MS,
  );

  it(
    "come by both",
    async () => {
      await carriedOut(promise.routing);
      await sliced(true);
      const after = await countedPerByte();
      expectKept(promise.both, after);
    },
    WITHIN_MS,
  );

  it("are printed by the command, with how they are done, and a name that nobody has is refused", async () => {
    const lines: string[] = [];
    const run = (...args: string[]) =>
      createProgram((text) => lines.push(text)).parseAsync(
        ["savings", ...args, "--server", embedded.urls.page],
        { from: "user" },
      );
    await run("default/api");
    expect(lines.join("\n")).toContain("service default/api of workflow shop");
    await expect(run("default/nothing")).rejects.toThrow('has the name "default/nothing"');
  });
});
