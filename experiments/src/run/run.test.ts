import { mkdtempSync, appendFileSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { seededRandom } from "@isochrone/runtime";
import { describe, expect, it, onTestFinished } from "vitest";
import { runCell } from "./cell-run.ts";
import { cellHash, cellsOf } from "./cells.ts";
import type { Cell } from "./cells.ts";
import { visitsOf } from "../scenario/rates.ts";
import { factsOf, unloadedMs } from "./facts.ts";
import type { CellResult } from "./result.ts";
import { openStore } from "../frame/store.ts";
import { FakeContender, FakeTestbed, tiny } from "./testing/fakes.ts";
import { pointAt } from "./trial.ts";

const ALL = { grounds: ["model", "lab"], only: {} } as const;
const CLOCK = { monotonic: () => 0 };
const { signal } = new AbortController();

function firstCell(change?: (text: string) => string): Cell {
  return cellsOf(tiny(change), ALL).find(({ point }) => point.labels["rttMs"] === 100)!;
}

async function measure(
  cell: Cell,
  contender: FakeContender,
  ground = new FakeTestbed(),
): Promise<CellResult> {
  return runCell(cell, { contender: () => contender, ground, clock: CLOCK, settings: "" }, signal);
}

describe("cells", () => {
  it("go through trials outside and contenders inside, each time another one first", () => {
    const cells = cellsOf(tiny(), { grounds: ["model"], only: { rttMs: "100" } });
    expect(cells.map(({ trial, contender }) => `${trial} ${contender}`)).toStrictEqual([
      "1 isochrone",
      "1 default",
      "2 default",
      "2 isochrone",
      "3 isochrone",
      "3 default",
      "4 default",
      "4 isochrone",
    ]);
  });

  it("share the load's seed among contenders and nothing else", () => {
    const cells = cellsOf(tiny(), { grounds: ["model"], only: {} });
    expect(new Set(cells.map(({ loadSeed }) => loadSeed)).size).toBe(cells.length / 2);
    expect(new Set(cells.map(({ contenderSeed }) => contenderSeed)).size).toBe(cells.length);
  });

  it("of the lab are those it names, with its times and trials", () => {
    const lab = cellsOf(tiny(), { grounds: ["lab"], only: {} });
    expect(lab).toHaveLength(2);
    expect(lab[0]!.protocol.learnSeconds).toBe(1);
    const longer = (text: string): string => text.replace("scale: 2,", "scale: 2, learn: 8s,");
    expect(
      cellsOf(tiny(longer), ALL).map(({ ground, protocol }) => [ground.name, protocol.learnSeconds]),
    ).toContainEqual(["lab", 8]);
    expect(cellsOf(tiny(longer), { grounds: ["model"], only: {} })[0]!.protocol.learnSeconds).toBe(1);
    expect(lab[0]!.point).toMatchObject({ id: "rttMs=10", load: { warmUpSeconds: 3, durationSeconds: 5 } });
  });

  it("have a hash of all that makes a measurement another one", () => {
    const cell = firstCell();
    const hash = cellHash(cell, "somebody", "{}");
    expect(cellHash(structuredClone(cell), "somebody", "{}")).toBe(hash);
    expect(cellHash(cell, "somebody else", "{}")).not.toBe(hash);
    expect(cellHash(cell, "somebody", '{"maxCpuUse":0.5}')).not.toBe(hash);
    expect(cellHash({ ...cell, trial: 2 }, "somebody", "{}")).not.toBe(hash);
    expect(
      cellHash(
        firstCell((text) => text.replace("cpuMs: 1", "cpuMs: 2")),
        "somebody",
        "{}",
      ),
    ).not.toBe(hash);
  });
});

describe("a trial", () => {
  it("places, learns, adjusts until content, warms up and measures", async () => {
    const ground = new FakeTestbed();
    const contender = new FakeContender("isochrone", true);
    const { measured, failure } = await measure(firstCell(), contender, ground);
    expect(failure).toBeNull();
    expect(ground.log).toStrictEqual([
      "start seeded",
      "run 1",
      "move db-0 to a",
      "run 2",
      "run 1",
      "run 1",
      "changes",
      "run 60",
      "stop",
    ]);
    expect(measured).toMatchObject({ p95: 2, mean: 2, rounds: 1, moves: 1, requests: 10, failed: 0 });
    expect(measured!.facts).toMatchObject({ cost: 0, colocated: 1, nodes: 1 });
    expect(contender.isClosed).toBe(true);
  });

  describe("that waits for a steady state", () => {
    const waiting =
      (most: string) =>
      (text: string): string =>
        text.replace("warmUp: 1s, duration", `warmUp: 1s, steadyWithin: ${most}, duration`);
    const runs = ({ log }: FakeTestbed): string[] => log.filter((line) => line.startsWith("run "));

    it("goes on until two rounds in a row are no faster than the fastest before", async () => {
      const ground = new FakeTestbed();
      const { measured } = await measure(firstCell(waiting("10m")), new FakeContender("default"), ground);
      expect(runs(ground)).toStrictEqual(["run 1", "run 1", "run 10", "run 10", "run 10", "run 60"]);
      expect(measured).toMatchObject({ steadyAfterSeconds: 30, p95: 102 });
    });

    it("lets a queue drain that the start has left, and measures none of it", async () => {
      const { measured } = await measure(
        firstCell(waiting("10m")),
        new FakeContender("default"),
        new FakeTestbed(800),
      );
      // 800 and 400: start and warm-up. 200 to 1.6 fall by over 1 % of the remaining 102 ms; 0.8 and 0.4
      // don't.
      expect(measured!.steadyAfterSeconds).toBe(100);
      expect(measured!.p95).toBeCloseTo(102.2, 1);
    });

    it("waits no longer than it is told to", async () => {
      const { measured } = await measure(
        firstCell(waiting("25s")),
        new FakeContender("default"),
        new FakeTestbed(800),
      );
      expect(measured!.steadyAfterSeconds).toBe(25);
    });

    it("in the model alone: the lab's warm-up is said in full", () => {
      const lab = cellsOf(tiny(waiting("10m")), { grounds: ["lab"], only: {} });
      expect(lab[0]!.point.load.steadyWithinSeconds).toBe(0);
    });
  });

  it("counts a failed request as one that was given up", async () => {
    const change = (text: string): string => `${text}changes: [{ at: 5s, nodeDown: b }]\n`;
    const cell = firstCell(change);
    const never: Cell = { ...cell, protocol: { ...cell.protocol, roundSeconds: 60 } };
    const { measured } = await measure(never, new FakeContender("default"));
    expect(measured).toMatchObject({ failed: 10, p95: 10_000, mean: 10_000, throughput: 0 });
  });

  it("brings pods of a dead node back and says how it went over time", async () => {
    const cell = firstCell((text) => `${text}changes: [{ at: 15s, nodeDown: b }]\n`);
    const { measured } = await measure(cell, new FakeContender("default"));
    expect(measured!.series.map(({ atSeconds, p95 }) => [atSeconds, p95])).toStrictEqual([
      [10, 102],
      [20, 10_000],
      [30, 2],
      [40, 2],
      [50, 2],
      [60, 2],
    ]);
    expect(measured!.placement).toStrictEqual({ "web-0": "a", "db-0": "a" });
  });

  it("of a contender that finds no place is a result, of a broken ground an error that says where", async () => {
    const nowhere = firstCell();
    const empty: Cell = { ...nowhere, point: { ...nowhere.point, cluster: { nodes: [], rttMs: [] } } };
    expect(await measure(empty, new FakeContender("default"))).toMatchObject({
      failure: "default: no node for web-0",
      measured: null,
    });
    const broken = new FakeTestbed();
    broken.start = () => Promise.reject(new Error("no sockets left"));
    await expect(measure(nowhere, new FakeContender("default"), broken)).rejects.toThrow(
      "model, rttMs=100, default, trial 1 failed",
    );
  });
});

describe("facts of a placement", () => {
  const { point } = firstCell();

  it("are rates times round trips", () => {
    const apart = new Map([
      ["web-0", "a"],
      ["db-0", "b"],
    ]);
    expect(visitsOf(point).get("db")).toBe(2);
    // 5 users make 10 calls of 1000 bytes per second over 100 ms.
    expect(factsOf(point, apart)).toStrictEqual({
      cost: 1000,
      trafficCost: 1_000_000,
      colocated: 0,
      busiest: 0.01,
      nodes: 2,
    });
    expect(unloadedMs(point, apart, 0.5, seededRandom(1))).toBe(1 + 1 + 100 + 2 * 1);
  });

  it("count the way of users who come in elsewhere, in messages of the mean size, but not as calls", () => {
    const at = { ...point, workflow: { ...point.workflow, usersAt: "b" } };
    const together = new Map([
      ["web-0", "a"],
      ["db-0", "a"],
    ]);
    // 5 requests of 1000 bytes per second over 100 ms.
    expect(factsOf(at, together)).toMatchObject({ cost: 500, trafficCost: 500_000, colocated: 1 });
  });

  it("follow the changes of the point", () => {
    const changed = {
      ...point,
      changes: [
        { kind: "region-latency", atSeconds: 5, region: "east", factor: 2 },
        { kind: "call-probability", atSeconds: 8, caller: "web", callee: "db", probability: 0.5 },
      ],
    } as const;
    expect(pointAt(changed, 5).cluster.rttMs[0]![1]).toBe(100);
    expect(pointAt(changed, 6).cluster.rttMs[0]![1]).toBe(200);
    expect(pointAt(changed, 9).workflow.workloads[0]!.calls[0]!.probability).toBe(0.5);
  });
});

describe("the results' file", () => {
  it("goes on after half a line", async () => {
    const folder = mkdtempSync(join(tmpdir(), "isochrone-results-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, "deep", "cells.jsonl");
    const first = await measure(firstCell(), new FakeContender("default"));
    openStore(file).add(first);
    appendFileSync(file, '{"hash":"half');
    const again = openStore(file);
    expect([...again.known.keys()]).toStrictEqual([first.hash]);
    again.add({ ...first, hash: "another" });
    expect(openStore(file).known.size).toBe(2);
    expect(readFileSync(file, "utf8").split("\n")).toHaveLength(4);
  });
});
